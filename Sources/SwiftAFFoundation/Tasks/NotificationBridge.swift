import Dispatch
import Foundation
import SwiftAF

/// Posts what happens to managers, tasks and reachability to `NotificationCenter.default`, under AFNetworking's names.
///
/// Nothing is posted, and next to nothing is spent, unless it is installed. Requests that are awaited have no task, so
/// there are no notifications of them but those of files.
public enum NotificationBridge {
    private static let installation = Locked<Int?>(nil)

    /// Posts from now on. Calling it again changes nothing. Any thread.
    public static func install() {
        installation.withLock { installation in
            if installation == nil { installation = ProcessEvents.add { post($0) } }
        }
    }

    /// Posts no more. What happens on other threads at the same time may still be posted. Any thread.
    public static func uninstall() {
        installation.withLock { installation in
            if let installed = installation { ProcessEvents.remove(installed) }
            installation = nil
        }
    }

    /// Keeps AFNetworking's order: what concerns a task comes on the main queue, after what caused it.
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

    /// What is in the serializer's value; nil for null and other values that stand for none.
    private var object: Any? {
        if let json = value as? JSONValue, json.isNull { return nil }
        return value.containedObject
    }
}
