import CBench

/// What a Swift client shares with the C ones: arguments, checks, measures and the report.
///
/// Unchecked, since it points into the arguments of the program: they stay as they are while it runs.
public struct Benchmark: @unchecked Sendable {
    public enum Kind: Sendable {
        case memory
        case file(path: String)
        case events
        case upload(path: String)
        case json
        case closures
        case echo
        case sockets
    }

    public let kind: Kind
    public let url: String
    /// The PEM file to trust instead of the system store.
    public let ca: String?
    public let inFlight: Int
    public let bytes: Int
    /// Whether tasks run on the manager's network thread.
    public let runsOnLoop: Bool
    private let options: bench_options

    /// Reads the command line; ends the program if it makes no sense.
    public init() {
        options = bench_parse(CommandLine.argc, CommandLine.unsafeArgv)
        url = String(cString: options.url)
        ca = options.ca.map { String(cString: $0) }
        inFlight = Int(options.in_flight)
        bytes = Int(options.bytes)
        runsOnLoop = options.executor == BENCH_EXECUTOR_LOOP
        let path = options.path.map { String(cString: $0) } ?? ""
        kind =
            switch options.kind {
            case BENCH_FILE: .file(path: path)
            case BENCH_EVENTS: .events
            case BENCH_UPLOAD: .upload(path: path)
            case BENCH_JSON: .json
            case BENCH_CLOSURES: .closures
            case BENCH_ECHO: .echo
            case BENCH_SOCKETS: .sockets
            default: .memory
            }
    }

    /// Ends the program unless an answer is a 200 with the body size that was announced.
    public func check(status: Int, bytes: Int) {
        withUnsafePointer(to: options) { bench_check($0, Int64(status), Int64(bytes)) }
    }

    /// Ends the program unless the file that was downloaded has the announced size.
    public func checkFile() {
        withUnsafePointer(to: options) { bench_check_file($0) }
    }

    /// Makes all requests, warm-up first, and prints the report; ends the program if one fails.
    public func run(client: String, request: @escaping @Sendable () async throws -> Void) async {
        do {
            if options.warmup > 0 {
                try await perform(Int(options.warmup), request)
            }
            bench_begin()
            try await perform(Int(options.count), request)
            withUnsafePointer(to: options) { bench_end($0, client) }
        } catch {
            bench_fail(client, "\(error)")
        }
    }

    /// The same for requests that share connections, which are opened before the warm-up: one for each request in flight.
    public func run<Connection: Sendable>(
        client: String, open: @Sendable () async throws -> Connection,
        request: @escaping @Sendable (Connection) async throws -> Void
    ) async {
        do {
            var connections: [Connection] = []
            for _ in 0..<inFlight {
                connections.append(try await open())
            }
            if options.warmup > 0 {
                try await perform(Int(options.warmup), connections, request)
            }
            bench_begin()
            try await perform(Int(options.count), connections, request)
            withUnsafePointer(to: options) { bench_end($0, client) }
        } catch {
            bench_fail(client, "\(error)")
        }
    }

    /// Opens connections at the same time, and measures only that.
    public func open<Connection: Sendable>(
        client: String, _ open: @escaping @Sendable () async throws -> Connection
    ) async {
        do {
            bench_begin()
            let connections = try await withThrowingTaskGroup(of: Connection.self) { group in
                for _ in 0..<inFlight {
                    group.addTask { try await open() }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            withUnsafePointer(to: options) { bench_end($0, client) }
            withExtendedLifetime(connections) {}
        } catch {
            bench_fail(client, "\(error)")
        }
    }

    /// The same for requests that call a closure when they have ended, which starts the next one.
    public func run(client: String, request: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) async {
        if options.warmup > 0 { await perform(Int(options.warmup), request) }
        bench_begin()
        await perform(Int(options.count), request)
        withUnsafePointer(to: options) { bench_end($0, client) }
    }

    private func perform(
        _ count: Int, _ request: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) async {
        @Sendable func make(_ rest: Int, then end: @escaping @Sendable () -> Void) {
            request { rest > 1 ? make(rest - 1, then: end) : end() }
        }
        let width = min(count, inFlight)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<width {
                let share = count / width + (index < count % width ? 1 : 0)
                group.addTask {
                    await withCheckedContinuation { ended in make(share) { ended.resume() } }
                }
            }
        }
    }

    private func perform<Connection: Sendable>(
        _ count: Int, _ connections: [Connection], _ request: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        let width = min(count, inFlight)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<width {
                let share = count / width + (index < count % width ? 1 : 0)
                let connection = connections[index]
                group.addTask {
                    for _ in 0..<share {
                        try await request(connection)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// As many child tasks as requests in flight, each making its share one after the other.
    private func perform(_ count: Int, _ request: @escaping @Sendable () async throws -> Void) async throws {
        let width = min(count, inFlight)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<width {
                let share = count / width + (index < count % width ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        try await request()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
