import BenchSupport
import Foundation
import FoundationNetworking

/// The toolchain's URLSession, used as its documentation suggests. It always trusts the system store.
@main
struct Client {
    let benchmark: Benchmark
    let session: URLSession
    let request: URLRequest

    init() throws {
        benchmark = Benchmark()
        guard let url = URL(string: benchmark.url) else {
            throw URLError(.badURL)
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = benchmark.inFlight
        configuration.urlCache = nil
        session = URLSession(configuration: configuration)
        request = URLRequest(url: url)
    }

    static func main() async throws {
        let client = try Client()
        await client.benchmark.run(client: "urlsession") { try await client.perform() }
    }

    func perform() async throws {
        switch benchmark.kind {
        case .memory, .json, .closures:
            let (body, response) = try await session.data(for: request)
            benchmark.check(status: status(of: response), bytes: body.count)
        case .events:
            let (count, response) = try await ByteCounter.count(request, configuration: session.configuration)
            benchmark.check(status: status(of: response), bytes: count)
        case .file(let path):
            let (location, response) = try await session.download(for: request)
            try FileManager.default.moveItem(at: location, to: URL(fileURLWithPath: path))
            benchmark.check(status: status(of: response), bytes: benchmark.bytes)
            benchmark.checkFile()
        case .upload(let path):
            var upload = request
            upload.httpMethod = "PUT"
            let (body, response) = try await session.upload(for: upload, fromFile: URL(fileURLWithPath: path))
            benchmark.check(status: status(of: response), bytes: body.count)
        case .echo, .sockets:
            preconditionFailure("URLSession has no WebSockets on Linux")
        }
    }

    private func status(of response: URLResponse?) -> Int {
        (response as? HTTPURLResponse)?.statusCode ?? 0
    }
}
