import AFTestServer
import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

/// One at a time, because there is one bridge.
@Suite(.serialized, .timeLimit(.minutes(10)))
final class NotificationTests {
    private static let all: [Notification.Name] = [
        .afTaskDidResume, .afTaskDidSuspend, .afTaskDidComplete, .afSessionDidInvalidate,
        .afDownloadTaskDidMoveFile, .afDownloadTaskDidFailToMoveFile, .afReachabilityDidChange,
    ]

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/slow", [.stall(at: "answer"), .json(#"{"a":1}"#)])
        server.route("/fast", .json(#"{"a":1}"#))
        NotificationBridge.install()
    }

    deinit {
        NotificationBridge.uninstall()
    }

    private static let dataRequest: @Sendable (String) -> HTTPRequest = { HTTPRequest($0) }
    private static let uploadRequest: @Sendable (String) -> HTTPRequest = {
        HTTPRequest(.post, $0, body: .file(#filePath))
    }

    private func completion(
        of path: String, with serializer: some ResponseSerializer = JSONResponseSerializer()
    ) async throws -> [String: Any] {
        let task = manager.dataTask(for: HTTPRequest(path), with: serializer) { _, _, _ in }
        let log = NotificationLog([.afTaskDidComplete], of: task)
        task.resume()
        return try #require(await log.next().first).userInfo
    }

    // MARK: Names

    @Test func namesAndKeysAreAFNetworkings() {
        #expect(
            Self.all.map { $0.rawValue } == [
                "com.alamofire.networking.task.resume", "com.alamofire.networking.task.suspend",
                "com.alamofire.networking.task.complete", "com.alamofire.networking.session.invalidate",
                "com.alamofire.networking.session.download.file-manager-succeed",
                "com.alamofire.networking.session.download.file-manager-error",
                "com.alamofire.networking.reachability.change",
            ])
        #expect(AFReachabilityDidChangeKey.status == "AFNetworkingReachabilityNotificationStatusItem")
        #expect(AFTaskDidCompleteKey.responseData == "com.alamofire.networking.complete.finish.responsedata")
        #expect(
            AFTaskDidCompleteKey.serializedResponse == "com.alamofire.networking.task.complete.serializedresponse")
        #expect(
            AFTaskDidCompleteKey.responseSerializer == "com.alamofire.networking.task.complete.responseserializer")
        #expect(AFTaskDidCompleteKey.assetPath == "com.alamofire.networking.task.complete.assetpath")
        #expect(AFTaskDidCompleteKey.error == "com.alamofire.networking.task.complete.error")
        #expect(AFTaskDidCompleteKey.sessionTaskMetrics == "com.alamofire.networking.complete.sessiontaskmetrics")
    }

    // MARK: Resume and suspend

    @Test(arguments: [NotificationTests.dataRequest, uploadRequest])
    func didResumeAndDidSuspendNotificationsAreReceived(request: @Sendable (String) -> HTTPRequest) async throws {
        let task = manager.dataTask(for: request("slow")) { _, _, _ in }
        let log = NotificationLog(Self.all, of: task)
        task.resume()
        task.suspend()
        task.resume()
        let entries = await log.next(3)
        #expect(entries.map { $0.name } == [.afTaskDidResume, .afTaskDidSuspend, .afTaskDidResume])
        #expect(entries.allSatisfy { $0.isOnMainQueue && $0.userInfo.isEmpty })
        server.open("answer")
        #expect(await log.next().map { $0.name } == [.afTaskDidComplete])
    }

    @Test func onlyRealChangesArePosted() async throws {
        let task = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in }
        let log = NotificationLog(Self.all, of: task)
        task.suspend()
        task.resume()
        task.resume()
        task.suspend()
        task.suspend()
        task.cancel()
        task.resume()
        task.suspend()
        let names = await log.next(3).map { $0.name }
        #expect(names == [.afTaskDidResume, .afTaskDidSuspend, .afTaskDidComplete])
        task.resume()
        await MainActor.run {}
        #expect(log.history.count == 3)
    }

    // MARK: Complete

    @Test func completeComesOnTheMainQueueAfterTheHandler() async throws {
        manager.completionQueue = DispatchQueue(label: "completions")
        let log = NotificationLog()
        let task = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in log.note("handler") }
        log.observe(Self.all, of: task)
        task.resume()
        // The handler has a queue of its own, which would not wait until the main queue has told of this.
        let resumed = await log.next()
        server.open("answer")
        let completed = await log.next()
        let names: [Notification.Name] = [.afTaskDidResume, .afTaskDidComplete]
        #expect((resumed + completed).map { $0.name } == names)
        #expect(log.history == [names[0].rawValue, "handler", names[1].rawValue])
        #expect(completed.allSatisfy { $0.isOnMainQueue })
    }

    @Test func completionHasDataObjectSerializerAndMetrics() async throws {
        let info = try await completion(of: "fast")
        #expect(
            Set(info.keys) == [
                AFTaskDidCompleteKey.responseData, AFTaskDidCompleteKey.serializedResponse,
                AFTaskDidCompleteKey.responseSerializer, AFTaskDidCompleteKey.sessionTaskMetrics,
            ])
        #expect(info[AFTaskDidCompleteKey.responseData] as? Data == Data(#"{"a":1}"#.utf8))
        #expect(info[AFTaskDidCompleteKey.serializedResponse] as? JSONValue == ["a": 1])
        #expect(info[AFTaskDidCompleteKey.responseSerializer] is JSONResponseSerializer)
        let metrics = try #require(info[AFTaskDidCompleteKey.sessionTaskMetrics] as? ResponseMetrics)
        #expect(metrics.hops.count == 1)
    }

    @Test func objectsOfFoundationComeOutOfTheirBox() async throws {
        let info = try await completion(of: "fast", with: FoundationJSONResponseSerializer())
        #expect(info[AFTaskDidCompleteKey.serializedResponse] as? [String: Int] == ["a": 1])
    }

    @Test func completionNamesManagersSerializer() async throws {
        let task = manager.get("slow", success: { _, _ in }, failure: nil)
        let log = NotificationLog([.afTaskDidComplete], of: task)
        server.open("answer")
        let info = try #require(await log.next().first).userInfo
        #expect(info[AFTaskDidCompleteKey.responseSerializer] is JSONResponseSerializer)
    }

    @Test func anEmptyBodyIsThereAndMakesNoObject() async throws {
        server.route("/empty", .status(204))
        for info in [
            try await completion(of: "empty"),
            try await completion(of: "empty", with: FoundationJSONResponseSerializer()),
        ] {
            #expect(info[AFTaskDidCompleteKey.responseData] as? Data == Data())
            #expect(info[AFTaskDidCompleteKey.serializedResponse] == nil)
            #expect(info[AFTaskDidCompleteKey.error] == nil)
        }
    }

    @Test func refusedStatusHasObjectAndError() async throws {
        server.route("/refused", .json(#"{"e":1}"#, status: 404))
        let info = try await completion(of: "refused")
        #expect(info[AFTaskDidCompleteKey.serializedResponse] as? JSONValue == ["e": 1])
        #expect((info[AFTaskDidCompleteKey.error] as? SessionError)?.status == 404)
    }

    @Test func failedTransferHasErrorAndEmptyData() async throws {
        server.route("/lost", .reset)
        let info = try await completion(of: "lost")
        #expect((info[AFTaskDidCompleteKey.error] as? SessionError)?.code == .connectionLost)
        #expect(info[AFTaskDidCompleteKey.responseData] as? Data == Data())
        #expect(info[AFTaskDidCompleteKey.serializedResponse] == nil)
        #expect(info[AFTaskDidCompleteKey.responseSerializer] is JSONResponseSerializer)
    }

    @Test(arguments: [nil, SessionError(.file)] as [SessionError?])
    func aFileTakesThePlaceOfTheData(error: SessionError?) async throws {
        let task = manager.dataTask(for: HTTPRequest("fast")) { _, _, _ in }
        let log = NotificationLog([.afTaskDidComplete], of: task)
        let completion = TaskCompletion(
            body: Data(), filePath: "/tmp/file", error: error, serializer: DataResponseSerializer())
        ProcessEvents.report(.taskCompleted(task, completion))
        let info = try #require(await log.next().first).userInfo
        let file = URL(fileURLWithPath: "/tmp/file")
        #expect(info[AFTaskDidCompleteKey.assetPath] as? URL == file)
        #expect(info[AFTaskDidCompleteKey.serializedResponse] as? URL == (error == nil ? file : nil))
        #expect(info[AFTaskDidCompleteKey.responseData] == nil)
    }

    // MARK: Reachability

    @Test(arguments: [
        NetworkReachabilityManager(domain: "localhost"), NetworkReachabilityManager(address: "127.0.0.1"),
    ])
    func reachabilityIsPostedAfterTheHandlerWithTheManager(manager: NetworkReachabilityManager) async throws {
        let log = NotificationLog([.afReachabilityDidChange], of: manager)
        manager.statusChangeHandler = { log.note("handler \($0.status)") }
        try manager.startMonitoring()
        let entry = try #require(await log.next().first)
        manager.stopMonitoring()
        #expect(log.history == ["handler Reachable via WiFi", Notification.Name.afReachabilityDidChange.rawValue])
        #expect(entry.isOnMainQueue)
        #expect(entry.userInfo[AFReachabilityDidChangeKey.status] as? NSNumber == 2)
    }

    // MARK: Managers and files

    @Test(arguments: [true, false])
    func invalidationIsPostedOnceBeforeTheCallReturns(cancellingTasks: Bool) {
        let log = NotificationLog([.afSessionDidInvalidate], of: manager)
        manager.invalidate(cancellingTasks: cancellingTasks)
        manager.invalidate(cancellingTasks: true)
        #expect(log.history == [Notification.Name.afSessionDidInvalidate.rawValue])
    }

    @Test func taskMoveSuccessfullyAfterDownloading() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let log = NotificationLog([.afDownloadTaskDidMoveFile], of: nil)
        _ = try await manager.download(HTTPRequest("fast"), to: path)
        let entry = try #require(await log.next().first)
        #expect(entry.userInfo.isEmpty)
    }

    @Test func taskMoveFailedAfterDownloading() async throws {
        let manager = manager
        let url = server.url("/fast")
        let log = NotificationLog([.afDownloadTaskDidFailToMoveFile], of: nil)
        await #expect(throws: SessionError.self) {
            try await manager.download(HTTPRequest(url), to: "/nonexistent/directory/file")
        }
        var entry = await log.next().first
        while let other = entry, other.userInfo[NSURLErrorFailingURLErrorKey] as? URL != url {
            entry = await log.next().first
        }
        #expect(entry?.userInfo[NSUnderlyingErrorKey] is NSError)
    }

    @Test func downloadTaskReportsPathOfItsFile() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let task = manager.downloadTask(for: HTTPRequest("fast"), to: path) { _, _, _ in }
        let log = NotificationLog([.afDownloadTaskDidMoveFile, .afTaskDidComplete], of: task)
        task.resume()
        let entries = await log.next(2)
        #expect(log.history == [Notification.Name.afDownloadTaskDidMoveFile, .afTaskDidComplete].map(\.rawValue))
        let info = try #require(entries.last).userInfo
        #expect(info[AFTaskDidCompleteKey.assetPath] as? URL == URL(fileURLWithPath: path))
        #expect(info[AFTaskDidCompleteKey.serializedResponse] as? URL == URL(fileURLWithPath: path))
        #expect(info[AFTaskDidCompleteKey.error] == nil)
    }

    @Test func downloadTaskReportsFailureToMoveFile() async throws {
        let task = manager.downloadTask(for: HTTPRequest("fast"), to: "/nonexistent/directory/file") { _, _, _ in }
        let log = NotificationLog([.afDownloadTaskDidFailToMoveFile, .afTaskDidComplete], of: task)
        task.resume()
        let entries = await log.next(2)
        #expect(
            log.history == [Notification.Name.afDownloadTaskDidFailToMoveFile, .afTaskDidComplete].map(\.rawValue))
        let info = try #require(entries.last).userInfo
        #expect((info[AFTaskDidCompleteKey.error] as? SessionError)?.code == .file)
        #expect(info[AFTaskDidCompleteKey.serializedResponse] == nil)
    }

    @Test(arguments: [true, false])
    func responseSavedToFileReportsItsPath(isWritable: Bool) async throws {
        let folder = isWritable ? FileManager.default.temporaryDirectory.path : "/dev/null"
        let path = "\(folder)/\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var request = HTTPRequest("fast")
        request.responseHandler = { _ in .download(to: path) }
        let task = manager.dataTask(for: request) { _, _, _ in }
        let moving = isWritable ? Notification.Name.afDownloadTaskDidMoveFile : .afDownloadTaskDidFailToMoveFile
        let log = NotificationLog([moving, .afTaskDidComplete], of: task)
        task.resume()
        let entries = await log.next(2)
        #expect(log.history == [moving, .afTaskDidComplete].map(\.rawValue))
        let info = try #require(entries.last).userInfo
        #expect(info[AFTaskDidCompleteKey.assetPath] as? URL == URL(fileURLWithPath: path))
        #expect((info[AFTaskDidCompleteKey.error] as? SessionError)?.code == (isWritable ? nil : .file))
    }

    // MARK: Nobody else pays

    @Test func nothingIsPostedUnlessTheBridgeIsInstalled() async throws {
        NotificationBridge.uninstall()
        let log = NotificationLog(Self.all, of: manager)
        await withCheckedContinuation { continuation in
            let task = manager.dataTask(for: HTTPRequest("fast")) { _, _, _ in continuation.resume() }
            log.observe(Self.all, of: task)
            task.resume()
        }
        manager.invalidate(cancellingTasks: false)
        await MainActor.run {}
        #expect(log.history.isEmpty)
    }

    @Test func installingTwiceDoesNotPostTwice() async throws {
        NotificationBridge.install()
        let task = manager.dataTask(for: HTTPRequest("fast")) { _, _, _ in }
        let log = NotificationLog(Self.all, of: task)
        task.resume()
        _ = await log.next(2)
        await MainActor.run {}
        #expect(log.history.count == 2)
    }

    // MARK: Pausing through a progress

    @Test func aProgressPausesAndResumesItsTask() async throws {
        let task = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in }
        let log = NotificationLog(Self.all, of: task)
        let progress = task.downloadProgress()
        task.resume()
        #expect(await log.next().map { $0.name } == [.afTaskDidResume])
        progress.pause()
        #expect(await log.next().map { $0.name } == [.afTaskDidSuspend])
        progress.resume()
        #expect(await log.next().map { $0.name } == [.afTaskDidResume])
        server.open("answer")
        #expect(await log.next().map { $0.name } == [.afTaskDidComplete])
    }
}
