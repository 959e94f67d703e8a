public import Foundation

/// The notifications of AFNetworking, posted while ``NotificationBridge`` is installed.
extension Notification.Name {
    /// `AFNetworkingTaskDidResumeNotification`: a task that wasn't running was started or resumed. Posted on the main
    /// queue. The object is the task.
    public static let afTaskDidResume = Self("com.alamofire.networking.task.resume")
    /// `AFNetworkingTaskDidSuspendNotification`: a running task was suspended. Posted on the main queue. The object is
    /// the task.
    public static let afTaskDidSuspend = Self("com.alamofire.networking.task.suspend")
    /// `AFNetworkingTaskDidCompleteNotification`: a task completed, and its completion handler has returned. Posted on
    /// the main queue. The object is the task; ``AFTaskDidCompleteKey`` describes the user info.
    public static let afTaskDidComplete = Self("com.alamofire.networking.task.complete")
    /// `AFURLSessionDidInvalidateNotification`: a manager was invalidated and accepts no more requests. Posted on the
    /// caller's thread before `invalidate` returns. The object is the manager.
    public static let afSessionDidInvalidate = Self("com.alamofire.networking.session.invalidate")
    /// `AFURLSessionDownloadTaskDidMoveFileSuccessfullyNotification`: a downloaded file was moved to its destination.
    /// Posted on the thread on which the download ended. The object is the task; nil for an awaited download.
    public static let afDownloadTaskDidMoveFile = Self(
        "com.alamofire.networking.session.download.file-manager-succeed")
    /// `AFURLSessionDownloadTaskDidFailToMoveFileNotification`: a downloaded file couldn't be moved to its destination.
    /// Posted on the thread on which the download ended. The object is the task; nil for an awaited download. The user
    /// info is that of the error's `nsError`.
    public static let afDownloadTaskDidFailToMoveFile = Self(
        "com.alamofire.networking.session.download.file-manager-error")
    /// `AFNetworkingReachabilityDidChangeNotification`: a `NetworkReachabilityManager` reported its status. Posted on
    /// the main queue, after the manager's handler. The object is the manager; the user info contains
    /// ``AFReachabilityDidChangeKey/status``.
    public static let afReachabilityDidChange = Self("com.alamofire.networking.reachability.change")
}

/// The key in the user info of `Notification.Name.afReachabilityDidChange`.
public enum AFReachabilityDidChangeKey {
    /// An `NSNumber`, the raw value of a `NetworkReachabilityStatus`.
    public static let status = "AFNetworkingReachabilityNotificationStatusItem"
}

/// The keys in the user info of `Notification.Name.afTaskDidComplete`. Two of the values lack the `task`
/// that the others contain, as in AFNetworking.
public enum AFTaskDidCompleteKey {
    /// The body, a `Data` that may be empty. Present for tasks that don't write a file, including failed ones.
    public static let responseData = "com.alamofire.networking.complete.finish.responsedata"
    /// The value that the serializer returned, if any: a `JSONValue`, a value of your own type, or the object in a
    /// ``FoundationObject``; for a download, the URL of the file.
    public static let serializedResponse = "com.alamofire.networking.task.complete.serializedresponse"
    /// The `ResponseSerializer`. Always present.
    public static let responseSerializer = "com.alamofire.networking.task.complete.responseserializer"
    /// The URL of the destination file of a download.
    public static let assetPath = "com.alamofire.networking.task.complete.assetpath"
    /// The `SessionError`, if the transfer or the serializer failed.
    public static let error = "com.alamofire.networking.task.complete.error"
    /// The `ResponseMetrics`, if it contains at least one hop.
    public static let sessionTaskMetrics = "com.alamofire.networking.complete.sessiontaskmetrics"
}
