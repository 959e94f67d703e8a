import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFImage

/// AFWKWebViewTests of AFNetworking, and what they leave out.
@MainActor
@Suite(.timeLimit(.minutes(10)))
final class WebContentDisplayingTests {
    private let server: TestServer
    private let view: RecordingWebView

    init() throws {
        server = try TestServer()
        view = RecordingWebView(HTTPSessionManager(baseURL: server.urlString("/")))
        server.route(
            "/page", .respond(200, headers: ["Content-Type": "text/html; charset=utf-8"], body: Data("<p>Grüße".utf8)))
    }

    @Test func showsPageWithoutProgressClosure() async {
        view.loadText(HTTPRequest("page"))
        let content = WebContent(
            data: Data("<p>Grüße".utf8), mimeType: "text/html", textEncoding: "utf-8",
            baseURL: server.urlString("/page"))
        #expect(await view.events.wait(for: 3) == [.started, .content(content), .finished])
    }

    @Test func reportsProgressUntilComplete() async {
        server.route(
            "/bytes", .respond(200, headers: ["Content-Type": "application/zip"], body: Data(count: 1 << 20)))
        let told = Happenings<TransferProgress>()
        let task = view.loadData(HTTPRequest("bytes"), progress: { told.add($0) })
        await view.events.wait(for: 3)
        #expect(told.all.last?.received == 1 << 20 && told.all.last?.fractionCompleted == 1)
        #expect(task.state == .completed)
        #expect(view.contents.first?.mimeType == "application/zip" && view.contents.first?.textEncoding == nil)
    }

    @Test func customHeadersReachServer() async {
        view.loadText(HTTPRequest("page", headers: ["X-Custom": "7"]))
        await view.events.wait(for: 3)
        #expect(server.requests.first?["X-Custom"] == "7")
    }

    @Test func reportsProgressOfDroppedLoadOnBusyMainActor() async {
        server.route("/slow", [.stall(at: "answer"), .text("0123456789")])
        let reported = Happenings<TransferProgress>()
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        var view: RecordingWebView? = RecordingWebView(manager)
        UnheldTask.complete(with: manager, on: server) {
            view.map { $0.loadText(HTTPRequest("slow"), progress: { reported.add($0) }) }
        } drop: {
            view = nil
        }
        await UnheldTask.afterHops()
        #expect(reported.all.count == 1)
    }

    @Test(arguments: ["page", "missing"])
    func releasesLoadThatHasEnded(path: String) async {
        weak var task: SessionTask?
        let failed = Happenings<SessionError.Code>()
        server.route("/missing", .respond(404))
        task = view.loadText(HTTPRequest(path), failure: { failed.add($0.code) })
        #expect(task != nil)
        if path == "page" { await view.events.wait(for: 3) } else { await failed.wait() }
        while task != nil { await Task.yield() }
    }

    @Test func showsContentReturnedBySuccessClosure() async {
        view.loadText(HTTPRequest("page"), success: { response, text in "\(response.status) \(text)" })
        await view.events.wait(for: 3)
        view.loadData(
            HTTPRequest("page"), mimeType: "text/plain", textEncoding: "latin1", success: { _, data in data.prefix(2) })
        await view.events.wait(for: 6)
        #expect(view.contents.map { String(decoding: $0.data, as: UTF8.self) } == ["200 <p>Grüße", "<p"])
        #expect(view.contents.last?.mimeType == "text/plain" && view.contents.last?.textEncoding == "latin1")
    }

    @Test func decodesTextWithResponseCharsetOrUTF8() async {
        server.route(
            "/latin", .respond(200, headers: ["Content-Type": "text/plain; charset=iso-8859-1"], body: Data([0xE9])))
        server.route(
            "/unknown", .respond(200, headers: ["Content-Type": "text/plain; charset=none"], body: Data("é".utf8)))
        view.loadText(HTTPRequest("latin"))
        await view.events.wait(for: 3)
        view.loadText(HTTPRequest("unknown"))
        await view.events.wait(for: 6)
        #expect(view.contents.map { String(decoding: $0.data, as: UTF8.self) } == ["é", "é"])
        #expect(view.contents.allSatisfy { $0.textEncoding == "utf-8" && $0.mimeType == "text/plain" })
    }

    @Test func baseURLIsThatOfRedirectedResponse() async {
        server.route("/here", .redirect(to: "/page"))
        view.loadText(HTTPRequest("here"))
        await view.events.wait(for: 3)
        #expect(view.contents.first?.baseURL == server.urlString("/page"))
    }

    @Test func reportsFailureWithoutShowingContent() async {
        server.route("/nothing", .status(404))
        let failed = Happenings<SessionError>()
        view.loadText(HTTPRequest("nothing"), failure: { failed.add($0) })
        #expect(await failed.wait().first?.status == 404)
        #expect(view.events.all == [.started])
    }

    @Test(arguments: [true, false])
    func newLoadOrCancellationReplacesRunningLoad(byAnother: Bool) async {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let failed = Happenings<SessionError>()
        let task = view.loadText(HTTPRequest("slow"), failure: { failed.add($0) })
        if byAnother { view.loadText(HTTPRequest("page")) } else { view.cancelLoading() }
        #expect(await failed.wait().first?.code == .cancelled)
        server.open("slow")
        if byAnother { await view.events.wait(for: 4) }
        #expect(view.contents.count == (byAnother ? 1 : 0))
        #expect(task.state == .completed)
    }

    @Test func replacedLoadReportsNoProgress() async {
        server.route(
            "/slow", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow"), .stall(at: "slow"), .send("later")])
        let reported = Happenings<TransferProgress>()
        let task = view.loadText(HTTPRequest("slow"), progress: { reported.add($0) })
        // What is to be reported waits for the main actor.
        while task.progress.received == 0 { sched_yield() }
        view.loadText(HTTPRequest("page"))
        await view.events.wait(for: 4)
        while task.state != .completed { await Task.yield() }
        await UnheldTask.afterHops()
        #expect(reported.all.isEmpty)
        server.open("slow")
    }

    @Test func releasedViewCancelsItsLoad() async {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let failed = Happenings<SessionError>()
        do {
            let gone = RecordingWebView(HTTPSessionManager(baseURL: server.urlString("/")))
            gone.loadText(HTTPRequest("slow"), failure: { failed.add($0) })
        }
        #expect(await failed.wait().first?.code == .cancelled)
        server.open("slow")
    }

    @Test func viewsShareManagerByDefault() {
        #expect(WebContentLoads().manager == nil)
        #expect(WebContentLoads.sharedManager === WebContentLoads.sharedManager)
    }
}
