import Dispatch
import Foundation
import SwiftAF

/// Posts events of managers, tasks and reachability to `NotificationCenter.default`, with AFNetworking's names.
///
/// Nothing is posted unless the bridge is installed; without it, the cost is negligible. Awaited requests have no task,
/// so only file notifications are posted for them.
public enum NotificationBridge {
    private static let installation = Locked<UInt64?>(nil)

    /// Starts posting. Further calls have no effect. Can be called on any thread.
    public static func install() {
        installation.withLock { installation in
            if installation == nil { installation = ProcessEvents.add { post($0) } }
        }
    }

    /// Stops posting. Events that occur on other threads at the same time may still be posted. Can be called on any
    /// thread.
    public static func uninstall() {
        installation.withLock { installation in
            if let installed = installation { ProcessEvents.remove(installed) }
            installation = nil
        }
    }

    /// Posts the notifications of an event, in AFNetworking's order: those of a task on the main queue, after the
    /// event.
    private static func post(_ event: ProcessEvent) {
        switch event {
        case .taskResumed(let task):
            DispatchQueue.main.async { post(.afTaskDidResume, task) }
        case .taskSuspended(let task):
            DispatchQueue.main.async { post(.afTaskDidSuspend, task) }
        case .taskCompleted(let task, let completion):
            DispatchQueue.main.async { post(.afTaskDidComplete, task, completion.userInfo) }
        case .managerInvalidated(let manager):
            post(.afSessionDidInvalidate, manager)
        case .downloadMoved(let task):
            post(.afDownloadTaskDidMoveFile, task)
        case .downloadNotMoved(let task, let error):
            post(.afDownloadTaskDidFailToMoveFile, task, error.nsError.userInfo)
        case .reachabilityChanged(let manager, let reachability):
            let status = NSNumber(value: reachability.status.rawValue)
            DispatchQueue.main.async {
                post(.afReachabilityDidChange, manager, [AFReachabilityDidChangeKey.status: status])
            }
        case .transferBegan, .transferEnded:
            break
        }
    }

    private static func post(_ name: Notification.Name, _ object: Any?, _ userInfo: [String: Any]? = nil) {
        NotificationCenter.default.post(name: name, object: object, userInfo: userInfo)
    }
}

extension TaskCompletion {
    fileprivate var userInfo: [String: Any] {
        var info: [String: Any] = [AFTaskDidCompleteKey.responseSerializer: serializer]
        if let file = filePath.map({ URL(fileURLWithPath: $0) }) {
            info[AFTaskDidCompleteKey.assetPath] = file
            info[AFTaskDidCompleteKey.serializedResponse] = error == nil ? file : nil
        } else {
            info[AFTaskDidCompleteKey.responseData] = body
            info[AFTaskDidCompleteKey.serializedResponse] = object
        }
        info[AFTaskDidCompleteKey.error] = error
        if !metrics.hops.isEmpty { info[AFTaskDidCompleteKey.sessionTaskMetrics] = metrics }
        return info
    }

    /// The object in the serializer's value; nil for null and other values that mean no object.
    private var object: Any? {
        if let json = value as? JSONValue, json.isNull { return nil }
        return value.containedObject
    }
}
