import BenchSupport
import SwiftAF

/// Our Swift API, as a program would use it: one manager, awaited requests.
@main
struct Client {
    let benchmark = Benchmark()
    let manager: HTTPSessionManager
    let request: HTTPRequest

    init() {
        var configuration = SessionConfiguration()
        configuration.maximumConnectionsPerHost = 0
        configuration.maximumIdleConnections = benchmark.inFlight
        configuration.limits.maximumBodySize = Int64(benchmark.bytes)
        if let ca = benchmark.ca {
            configuration.security.anchors = .file(ca)
        }
        manager = HTTPSessionManager(configuration: configuration)
        request = HTTPRequest(benchmark.url)
    }

    static func main() async {
        let client = Client()
        await client.benchmark.run(client: "swift") { try await client.perform() }
    }

    func perform() async throws {
        switch benchmark.kind {
        case .memory:
            let answer = try await manager.response(for: request)
            benchmark.check(status: answer.status, bytes: answer.body.count)
        case .events:
            let answer = try await manager.stream(request)
            var count = 0
            for try await chunk in answer.bytes {
                count += chunk.count
            }
            benchmark.check(status: answer.status, bytes: count)
        case .file(let path):
            let answer = try await manager.download(request, to: path)
            benchmark.check(status: answer.status, bytes: benchmark.bytes)
            benchmark.checkFile()
        case .upload(let path):
            let answer = try await manager.response(for: HTTPRequest(.put, request.url, body: .file(path)))
            benchmark.check(status: answer.status, bytes: answer.body.count)
        }
    }
}
