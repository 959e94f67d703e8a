import CAFTestServer
public import FoundationEssentials
import Synchronization

/// The connection has ended or the server is stopping: nothing can be sent or received any more.
public struct ConnectionEnded: Error, Sendable {}

extension TestServer {
    /// The connection that a handler works on. After the handler returns, every call throws ``ConnectionEnded``.
    ///
    /// Its methods block the calling thread. In an async handler that runs elsewhere, such as on the main actor, the
    /// connection's thread does the work, and the calling thread waits for it.
    public final class Connection {
        private var pointer: OpaquePointer?
        private let failures: HandlerErrors
        /// The executor of an async handler, which may run on other threads; nil for a handler that blocks.
        private let executor: ConnectionExecutor?

        /// The index of the connection, from 0 in the order of acceptance.
        public let index: Int

        init(_ pointer: OpaquePointer, _ failures: HandlerErrors, _ executor: ConnectionExecutor? = nil) {
            self.pointer = pointer
            self.failures = failures
            self.executor = executor
            index = afts_conn_index(pointer)
        }

        func invalidate() {
            pointer = nil
        }

        private func perform(_ action: (OpaquePointer) -> afts_status) throws {
            guard let pointer else { throw ConnectionEnded() }
            var status = AFTS_ELOST
            if let executor {
                executor.onThread { status = action(pointer) }
            } else {
                status = action(pointer)
            }
            guard status == AFTS_OK else { throw ConnectionEnded() }
        }

        /// Runs the steps of a script, such as a response.
        ///
        /// ```swift
        /// try connection.run(.json(encoding: user, status: 201))
        /// ```
        public func run(_ script: Script) throws {
            let built = script.build(failures)
            defer { afts_script_release(built) }
            try perform { afts_conn_run($0, built) }
        }

        /// Sends bytes unchanged.
        public func send(_ bytes: Data) throws {
            try perform { pointer in
                bytes.withUnsafeBytes { afts_conn_send(pointer, $0.baseAddress, $0.count) }
            }
        }

        /// Sends text unchanged, as UTF-8.
        public func send(_ text: String) throws {
            try send(Data(text.utf8))
        }

        /// Sends a complete response: see ``Script/respond(_:headers:body:)-(_,_,Data)``.
        ///
        /// Other responses are scripts: `run(.json("{}"))`, `run(.redirect(to: "/"))`.
        public func respond(_ status: Int = 200, headers: Script.Headers = [:], body: Data = Data()) throws {
            let lines = headerLines(headers)
            try perform { pointer in
                body.withUnsafeBytes {
                    afts_conn_respond(pointer, Int32(clamping: status), lines, $0.baseAddress, $0.count)
                }
            }
        }

        /// Sends a complete response with text as its body, as UTF-8: see
        /// ``Script/respond(_:headers:body:)-(_,_,String)``.
        public func respond(_ status: Int = 200, headers: Script.Headers = [:], body: String) throws {
            try respond(status, headers: headers, body: Data(body.utf8))
        }

        /// Waits for a time.
        public func pause(_ duration: Duration) throws {
            try perform { afts_conn_pause($0, duration.wholeMilliseconds) }
        }

        /// Waits at a gate until the test releases it: see ``TestServer/release(_:permits:)``.
        public func stall(at gate: String) throws {
            try perform { afts_conn_stall($0, gate) }
        }

        /// Reads the rest of the request body, in a script with ``Script/readHeadOnly``.
        ///
        /// - Returns: The whole body, up to ``Options/bodyLimit``. The body of the handler's request has only what was
        ///   read before the handler was called.
        @discardableResult
        public func readBody() throws -> Data {
            var body = Data()
            try perform { pointer in
                let status = afts_conn_read_body(pointer)
                if let request = afts_conn_request(pointer) {
                    body = Data(UnsafeRawBufferPointer(start: request.pointee.body, count: request.pointee.body_size))
                }
                return status
            }
            return body
        }

        /// Reads the next frame that the client of a WebSocket sends. Upgrade the connection before with
        /// `run(.upgrade())`, and answer with `run(.textFrame("hello"))`.
        ///
        /// Every frame is returned, also pings, and frames that break the protocol. ``readText()`` reads whole
        /// messages.
        ///
        /// - Throws: ``ConnectionEnded``, also for a frame of more than 64 MiB.
        public func readFrame() throws -> Frame {
            var frame = afts_frame()
            try perform { afts_conn_read_frame($0, &frame) }
            defer { afts_frame_clear(&frame) }
            return Frame(frame)
        }

        /// Closes the connection cleanly: see ``Script/close``.
        public func close() throws {
            try run(.close)
        }

        /// Reads raw bytes, after those that have been parsed already.
        ///
        /// - Returns: At least one byte and at most `count`; empty if the client closed the connection.
        public func read(upTo count: Int) throws -> Data {
            var bytes = Data(count: max(0, count))
            var received = 0
            try perform { pointer in
                bytes.withUnsafeMutableBytes { afts_conn_read(pointer, $0.baseAddress, $0.count, &received) }
            }
            return bytes.prefix(received)
        }
    }
}

/// The errors that handlers of a server have thrown.
///
/// A list without a lock: on Linux, ThreadSanitizer doesn't see a `Mutex`, so it would report tests of our users. Nodes
/// stay until the list is freed, so a reader can follow them.
final class HandlerErrors: Sendable {
    private final class Node: Sendable {
        let error: any Error
        let previous: Node?
        let count: Int

        init(_ error: any Error, after previous: Node?) {
            (self.error, self.previous) = (error, previous)
            count = (previous?.count ?? 0) + 1
        }
    }

    /// So that the release of the last node, which releases all others, needs little stack.
    private static let limit = 1000

    /// The address of the last node, which the list retains; 0 for an empty list.
    private let last = Atomic<UInt>(0)

    deinit {
        Self.reference(last.load(ordering: .acquiring))?.release()
    }

    var all: [any Error] {
        var errors: [any Error] = []
        var node = Self.reference(last.load(ordering: .acquiring))?.takeUnretainedValue()
        while let known = node {
            errors.append(known.error)
            node = known.previous
        }
        return errors.reversed()
    }

    func append(_ error: any Error) {
        var known = last.load(ordering: .acquiring)
        while true {
            let previous = Self.reference(known)
            let node = Node(error, after: previous?.takeUnretainedValue())
            guard node.count <= Self.limit else { return }
            let new = Unmanaged.passRetained(node)
            let (isAppended, current) = last.compareExchange(
                expected: known, desired: UInt(bitPattern: new.toOpaque()), ordering: .acquiringAndReleasing)
            // The new node holds the previous one.
            (isAppended ? previous : new)?.release()
            if isAppended { return }
            known = current
        }
    }

    private static func reference(_ address: UInt) -> Unmanaged<Node>? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }
}

/// Passes a handler through C as a context pointer.
final class HandlerBox: Sendable {
    enum Code: Sendable {
        case blocking(Script.Handler)
        case awaiting(Script.AsyncHandler)
    }

    private let code: Code
    private let failures: HandlerErrors

    init(_ code: Code, _ failures: HandlerErrors) {
        self.code = code
        self.failures = failures
    }

    func append(to script: OpaquePointer) {
        let payload = Unmanaged.passRetained(self).toOpaque()
        afts_handle(
            script,
            { pointer, request, payload in
                guard let pointer, let payload else { return }
                Unmanaged<HandlerBox>.fromOpaque(payload).takeUnretainedValue().handle(pointer, request)
            }, payload,
            { payload in
                guard let payload else { return }
                Unmanaged<HandlerBox>.fromOpaque(payload).release()
            })
    }

    private func handle(_ pointer: OpaquePointer, _ request: UnsafePointer<afts_request>?) {
        let request = request.map { TestServer.Request($0.pointee) } ?? .none
        switch code {
        case .blocking(let handler):
            let connection = TestServer.Connection(pointer, failures)
            defer { connection.invalidate() }
            do {
                try handler(request, connection)
            } catch {
                answer(error, connection, pointer)
            }
        case .awaiting(let handler):
            // This thread waits for the task, and does nothing else with the connection meanwhile.
            nonisolated(unsafe) let pointer = pointer
            let executor = ConnectionExecutor()
            executor.run(pointer) {
                let connection = TestServer.Connection(pointer, self.failures, executor)
                defer { connection.invalidate() }
                do {
                    try await HandlerTask.$isCurrent.withValue(true) { try await handler(request, connection) }
                } catch is CancellationError where Task.isCancelled {
                    // The server is being stopped.
                } catch {
                    self.answer(error, connection, pointer)
                }
            }
        }
    }

    private func answer(_ error: any Error, _ connection: TestServer.Connection, _ pointer: OpaquePointer) {
        // The client has closed the connection: the response can't be sent.
        if error is ConnectionEnded { return }
        failures.append(error)
        // A second status line would be read as part of the body, or of the next response.
        if afts_conn_has_answered(pointer) {
            try? connection.run(.reset)
            return
        }
        try? connection.respond(500, headers: ["Connection": "close"], body: "\(error)")
    }
}
