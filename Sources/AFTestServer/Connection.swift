import CAFTestServer
public import FoundationEssentials

/// The connection has ended or the server is stopping: nothing can be sent or received any more.
public struct ConnectionEnded: Error, Sendable {}

extension TestServer {
    /// The connection that a handler works on. After the handler returns, every call throws ``ConnectionEnded``.
    public final class Connection {
        private var pointer: OpaquePointer?

        /// The index of the connection, from 0 in the order of acceptance.
        public let index: Int

        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
            index = afts_conn_index(pointer)
        }

        func invalidate() {
            pointer = nil
        }

        private func perform(_ action: (OpaquePointer) -> afts_status) throws {
            guard let pointer, action(pointer) == AFTS_OK else { throw ConnectionEnded() }
        }

        /// Runs the steps of a script.
        public func run(_ script: Script) throws {
            let built = script.build()
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

        /// Sends a complete response: see ``Script/respond(_:headers:body:)``.
        public func respond(_ status: Int = 200, headers: Script.Headers = [:], body: Data = Data()) throws {
            let lines = headerLines(headers)
            try perform { pointer in
                body.withUnsafeBytes {
                    afts_conn_respond(pointer, Int32(clamping: status), lines, $0.baseAddress, $0.count)
                }
            }
        }

        /// Waits for a time.
        public func pause(_ duration: Duration) throws {
            try perform { afts_conn_pause($0, duration.wholeMilliseconds) }
        }

        /// Waits at a gate until the test releases it: see ``TestServer/release(_:permits:)``.
        public func stall(at gate: String) throws {
            try perform { afts_conn_stall($0, gate) }
        }

        /// Reads the rest of the request body.
        public func readBody() throws {
            try perform { afts_conn_read_body($0) }
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

/// Passes a handler through C as a context pointer.
final class HandlerBox: Sendable {
    private let handler: Script.Handler

    init(_ handler: @escaping Script.Handler) {
        self.handler = handler
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
        let connection = TestServer.Connection(pointer)
        defer { connection.invalidate() }
        do {
            try handler(request.map { TestServer.Request($0.pointee) } ?? .none, connection)
        } catch is ConnectionEnded {
            // The client has closed the connection: the response can't be sent.
        } catch {
            try? connection.respond(500, headers: ["Connection": "close"], body: Data("\(error)".utf8))
        }
    }
}
