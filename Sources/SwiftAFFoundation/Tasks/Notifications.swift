public import Foundation

/// The notifications of AFNetworking, posted while ``NotificationBridge`` is installed.
extension Notification.Name {
    /// `AFNetworkingTaskDidResumeNotification`: a task runs that did not. On the main queue; the object is the task.
    public static let afTaskDidResume = Self("com.alamofire.networking.task.resume")
    /// `AFNetworkingTaskDidSuspendNotification`: a task was suspended that ran. On the main queue; the object is the
    /// task.
    public static let afTaskDidSuspend = Self("com.alamofire.networking.task.suspend")
    /// `AFNetworkingTaskDidCompleteNotification`: a task is over, and its completion handler has run. On the main
    /// queue; the object is the task, the user info is described by ``AFTaskDidCompleteKey``.
    public static let afTaskDidComplete = Self("com.alamofire.networking.task.complete")
    /// `AFURLSessionDidInvalidateNotification`: a manager takes no more requests. Posted before `invalidate` returns,
    /// on its thread; the object is the manager.
    public static let afSessionDidInvalidate = Self("com.alamofire.networking.session.invalidate")
    /// `AFURLSessionDownloadTaskDidMoveFileSuccessfullyNotification`: a download stands in its place. Posted where the
    /// download ended; the object is the task, nil for a download that is awaited.
    public static let afDownloadTaskDidMoveFile = Self(
        "com.alamofire.networking.session.download.file-manager-succeed")
    /// `AFURLSessionDownloadTaskDidFailToMoveFileNotification`: a download could not be put in its place. Posted where
    /// the download ended; the object is the task, nil for a download that is awaited; the user info is that of the
    /// error's `nsError`.
    public static let afDownloadTaskDidFailToMoveFile = Self(
        "com.alamofire.networking.session.download.file-manager-error")
    /// `AFNetworkingReachabilityDidChangeNotification`: what a `NetworkReachabilityManager` knows was told, after its
    /// handler. On the main queue; the object is the manager, the user info has ``AFReachabilityDidChangeKey/status``.
    public static let afReachabilityDidChange = Self("com.alamofire.networking.reachability.change")
}

/// The key in the user info of ``Foundation/Notification/Name/afReachabilityDidChange``.
public enum AFReachabilityDidChangeKey {
    /// An `NSNumber`, the raw value of a `NetworkReachabilityStatus`.
    public static let status = "AFNetworkingReachabilityNotificationStatusItem"
}

/// The keys in the user info of ``Foundation/Notification/Name/afTaskDidComplete``. Two of them lack the `task` that
/// the others have; so did they in AFNetworking.
public enum AFTaskDidCompleteKey {
    /// The body, a `Data` that may be empty; for tasks that write no file, also for failed ones.
    public static let responseData = "com.alamofire.networking.complete.finish.responsedata"
    /// What the serializer made of the body, if it made anything: a `JSONValue`, a value of your types, the object in
    /// a ``FoundationObject``; for a download the URL of the file.
    public static let serializedResponse = "com.alamofire.networking.task.complete.serializedresponse"
    /// The `ResponseSerializer`. Always there.
    public static let responseSerializer = "com.alamofire.networking.task.complete.responseserializer"
    /// The URL of the file that a download was to write.
    public static let assetPath = "com.alamofire.networking.task.complete.assetpath"
    /// The `SessionError`, if the transfer or the serializer failed.
    public static let error = "com.alamofire.networking.task.complete.error"
    /// The `ResponseMetrics`, if there was at least one exchange.
    public static let sessionTaskMetrics = "com.alamofire.networking.complete.sessiontaskmetrics"
}
