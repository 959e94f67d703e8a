import AFTestServer
import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProgressReporterTests {
    @Test func anAwaitedCallShowsItsProgress() async throws {
        let server = try TestServer()
        server.route("/x", .text(String(repeating: "x", count: 5000)))
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let queue = DispatchQueue(label: "progress")
        let (upload, download) = (Progress(totalUnitCount: -1), Progress(totalUnitCount: -1))
        let (sent, received) = (upload.uploadReporter(on: queue), download.downloadReporter(on: queue))
        let request = HTTPRequest(.put, "x", body: .data(Data(repeating: 1, count: 3000)))
        _ = try await manager.response(for: request) { progress in
            sent(progress)
            received(progress)
        }
        queue.sync {
            #expect(upload.completedUnitCount == 3000 && upload.totalUnitCount == 3000)
            #expect(download.completedUnitCount == 5000 && download.totalUnitCount == 5000)
        }
    }

    @Test func aReporterDoesNotKeepItsProgressAlive() {
        var progress: Progress? = Progress(totalUnitCount: 1)
        weak let released = progress
        let report = progress?.downloadReporter(on: DispatchQueue(label: "progress"))
        progress = nil
        report?(TransferProgress(received: 1))
        #expect(released == nil)
    }
}
