import BenchSupport
import Dispatch
import FoundationEssentials
import SwiftAF

/// What the row `json` decodes.
struct Document: Decodable, Sendable {
    struct User: Decodable, Sendable {
        let id: Int
        let name: String
        let email: String
        let isActive: Bool
        let score: Double
        let tags: [String]
    }

    let page: Int
    let users: [User]
}

/// Our Swift API, as a program would use it: one manager, awaited requests.
@main
struct Client {
    let benchmark = Benchmark()
    let manager: HTTPSessionManager
    let request: HTTPRequest

    init() {
        var configuration = SessionConfiguration()
        configuration.maximumConnectionsPerHost = nil
        configuration.maximumIdleConnections = benchmark.inFlight
        configuration.limits.maximumBodySize = Int64(max(benchmark.bytes, 1))
        if let ca = benchmark.ca {
            configuration.securityPolicy.anchors = .file(ca)
        }
        manager = HTTPSessionManager(configuration: configuration)
        manager.completionQueue = DispatchQueue(label: "bench")
        request = HTTPRequest(benchmark.url)
    }

    static func main() async {
        let client = Client()
        let executor = client.benchmark.runsOnLoop ? client.manager.taskExecutor : nil
        await withTaskExecutorPreference(executor) { await client.run() }
    }

    func run() async {
        switch benchmark.kind {
        case .closures:
            return await benchmark.run(client: "swift") { start($0) }
        case .echo:
            return await echo()
        case .sockets:
            return await benchmark.open(client: "swift") { try await manager.webSocket(request) }
        default:
            break
        }
        await benchmark.run(client: "swift") { try await perform() }
    }

    func perform() async throws {
        // Each in a function of its own that isn't inlined, because the memory of a waiting task is that of the function
        // it waits in.
        switch benchmark.kind {
        case .memory: try await collect()
        case .events: try await count()
        case .file(let path): try await download(to: path)
        case .upload(let path): try await upload(path)
        case .json: try await decode()
        case .closures, .echo, .sockets: break
        }
    }

    func echo() async {
        let message = Data(count: benchmark.bytes)
        await benchmark.run(client: "swift") {
            try await manager.webSocket(request)
        } request: { socket in
            try await socket.send(message)
            var messages = socket.makeAsyncIterator()
            let answer = try await messages.next()
            benchmark.check(status: 200, bytes: answer?.data.count ?? -1)
        }
    }

    @inline(never)
    func collect() async throws {
        let answer = try await manager.response(for: request)
        benchmark.check(status: answer.status, bytes: answer.body.count)
    }

    @inline(never)
    func count() async throws {
        let answer = try await manager.stream(request)
        var count = 0
        for try await chunk in answer.bytes {
            count += chunk.count
        }
        benchmark.check(status: answer.status, bytes: count)
    }

    @inline(never)
    func download(to path: String) async throws {
        let answer = try await manager.download(request, to: path)
        benchmark.check(status: answer.status, bytes: benchmark.bytes)
        benchmark.checkFile()
    }

    @inline(never)
    func upload(_ path: String) async throws {
        let answer = try await manager.response(for: HTTPRequest(.put, request.url, body: .file(path)))
        benchmark.check(status: answer.status, bytes: answer.body.count)
    }

    @inline(never)
    func decode() async throws {
        let document: Document = try await manager.get(request.url)
        benchmark.check(status: 200, bytes: document.users.count == 7 ? benchmark.bytes : 0)
    }

    func start(_ ended: @escaping @Sendable () -> Void) {
        let task = manager.dataTask(for: request, with: DataResponseSerializer()) { response, body, _ in
            benchmark.check(status: response?.status ?? 0, bytes: body?.count ?? 0)
            ended()
        }
        task.resume()
    }
}
