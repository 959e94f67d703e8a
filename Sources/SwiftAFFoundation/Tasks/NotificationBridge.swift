import Dispatch
import Foundation
import SwiftAF

/// Posts what happens to managers, tasks and reachability to `NotificationCenter.default`, under AFNetworking's names.
///
/// Nothing is posted, and next to nothing is spent, unless it is installed. Requests that are awaited have no task, so
/// there are no notifications of them but those of files.
public enum NotificationBridge {
    private struct Installation {
        let tasks: Int
        let reachability: Int
    }

    private static let installation = Guarded<Installation?>(nil)

    /// Posts from now on. Calling it again changes nothing. Any thread.
    public static func install() {
        installation.withLock { installation in
            guard installation == nil else { return }
            installation = Installation(
                tasks: TaskObservation.observers.add(Poster()),
                reachability: ReachabilityObservation.observers.add(Poster()))
        }
    }

    /// Posts no more. What happens on other threads at the same time may still be posted. Any thread.
    public static func uninstall() {
        installation.withLock { installation in
            guard let installed = installation else { return }
            installation = nil
            TaskObservation.observers.remove(installed.tasks)
            ReachabilityObservation.observers.remove(installed.reachability)
        }
    }
}

/// Keeps AFNetworking's order: what concerns a task comes on the main queue, after what caused it.
private struct Poster: TaskObserver, ReachabilityObserver {
    func taskDidResume(_ task: SessionTask) {
        DispatchQueue.main.async { post(.afTaskDidResume, task) }
    }

    func taskDidSuspend(_ task: SessionTask) {
        DispatchQueue.main.async { post(.afTaskDidSuspend, task) }
    }

    func taskDidComplete(_ task: SessionTask, _ completion: TaskCompletion) {
        DispatchQueue.main.async { post(.afTaskDidComplete, task, completion.userInfo) }
    }

    func managerDidInvalidate(_ manager: HTTPSessionManager) {
        post(.afSessionDidInvalidate, manager)
    }

    func downloadDidMove(_ task: SessionTask?, to path: String) {
        post(.afDownloadTaskDidMoveFile, task)
    }

    func downloadDidFailToMove(_ task: SessionTask?, _ error: SessionError) {
        post(.afDownloadTaskDidFailToMoveFile, task, error.nsError.userInfo)
    }

    func reachabilityDidChange(_ manager: NetworkReachabilityManager, _ reachability: NetworkReachability) {
        let status = NSNumber(value: reachability.status.rawValue)
        DispatchQueue.main.async {
            post(.afReachabilityDidChange, manager, [AFReachabilityDidChangeKey.status: status])
        }
    }

    private func post(_ name: Notification.Name, _ object: Any?, _ userInfo: [String: Any]? = nil) {
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
