import CAFTestServer
import Dispatch
public import FoundationEssentials

/// A scripted HTTP/1.1 server on loopback, for testing HTTP clients.
///
/// It sends exactly what its scripts say, including pauses, truncation, resets, stalls and invalid framing, and records
/// exactly what it receives.
///
/// ```swift
/// let server = try TestServer()
/// server.route("GET /user", .json(#"{"name":"Ada"}"#))
/// server.route("POST /upload", [.readHeadOnly, .status(413, headers: ["Connection": "close"])])
///
/// // … let the client load server.url("/user") …
///
/// try #require(await server.wait(for: .requests(1)))
/// #expect(server.requests.first?["Accept"] == "application/json")
/// #expect(server.unroutedRequests.isEmpty && server.handlerErrors.isEmpty)
/// ```
///
/// A server listens on a free port of 127.0.0.1 from its creation until ``stop()`` or its deinitialization, which wait
/// for the return of running handlers. A request that doesn't match a route is echoed: see ``Script/echo``.
///
/// Each connection has a thread. To have enough descriptors for many, the first server raises the process's soft limit
/// of open files (RLIMIT_NOFILE) to 16,384, or the hard limit if that is lower.
///
/// All members can be used from any thread. Tests don't need to sleep: a script waits at a *gate* with
/// ``Script/stall(at:)``, the test waits for that with `wait(for: .stalled(at:))`, and lets the script
/// continue with ``release(_:permits:)``.
public final class TestServer: Sendable {
    /// The C server. All of its functions are thread-safe.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let handle: Handle
    private let failures = HandlerErrors()
    var pointer: OpaquePointer { handle.pointer }

    /// The port that the server listens on.
    public let port: Int

    /// Creates a server and starts it.
    ///
    /// - Parameters:
    ///   - tls: The TLS settings; nil for plain text.
    ///   - options: Limits, socket buffers, and the address family.
    /// - Throws: ``TestServerError`` if the TLS settings are invalid or a socket can't be created.
    public init(tls: TLS? = nil, options: Options = Options()) throws {
        guard let pointer = withCOptions(options, tls, { afts_server_new($0) }) else {
            throw TestServerError(message: "no memory for a server")
        }
        guard afts_server_start(pointer) == AFTS_OK else {
            let message = String(cString: afts_server_error(pointer))
            afts_server_free(pointer)
            throw TestServerError(message: message)
        }
        handle = Handle(pointer: pointer)
        port = Int(afts_server_port(pointer))
    }

    deinit {
        let handle = handle
        // If a handler released the last reference, or was released with it, free the server on another thread: freeing
        // it waits for the threads that run handlers.
        if Self.isInHandler {
            DispatchQueue.global().async { afts_server_free(handle.pointer) }
        } else {
            afts_server_free(handle.pointer)
        }
    }

    /// Ends all connections, even in the middle of a script, and stops listening. The records remain readable.
    ///
    /// It waits until running handlers have returned: their calls of the connection throw ``ConnectionEnded``, but a
    /// handler that blocks elsewhere blocks this call, and the deinitialization of the server. Called in a handler, or
    /// in a task that an async handler has created, it returns before the server has stopped.
    public func stop() {
        if Self.isInHandler {
            DispatchQueue.global().async { afts_server_stop(self.pointer) }
        } else {
            afts_server_stop(pointer)
        }
    }

    /// Whether a stop would wait for the caller.
    private static var isInHandler: Bool { afts_in_handler() || HandlerTask.isCurrent }

    // MARK: Addresses

    /// The URL of a path, such as "http://127.0.0.1:40123/path"; "https" with TLS.
    ///
    /// - Parameter path: The path, and a query if there is one. A slash is added in front if it has none. Isn't
    ///   percent-encoded. With an empty path, the result has no path.
    public func urlString(_ path: String = "/") -> String {
        let path = path.isEmpty || path.hasPrefix("/") ? path : "/\(path)"
        let length = afts_server_url(pointer, path, nil, 0)
        return String(unsafeUninitializedCapacity: length + 1) { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                min(length, afts_server_url(pointer, path, $0.baseAddress, $0.count))
            }
        }
    }

    /// The URL of a path: see ``urlString(_:)``. Characters that are invalid in a URL are percent-encoded.
    public func url(_ path: String = "/") -> URL {
        guard let url = URL(string: urlString(path)) else {
            precondition(false, "the path \"\(path)\" makes no URL")
            return URL(filePath: path)
        }
        return url
    }

    /// Not available: call ``urlString(_:)`` or ``url(_:)``.
    @available(*, unavailable, renamed: "url()")
    @_documentation(visibility: internal)
    public var baseURL: URL { url() }

    // MARK: Routes

    /// Responds to requests with a script.
    ///
    /// The most specific route is used: an exact path before a prefix, a longer prefix before a shorter one, a route
    /// with a method before one without. A route replaces an earlier one with the same pattern.
    ///
    /// - Parameters:
    ///   - pattern: "GET /path"; "/path" for every method; "/files/*" for every target with that prefix; "OPTIONS *"
    ///     for the target of that name; "host:443" for CONNECT. The query isn't compared. Paths are compared as they
    ///     are on the wire, percent-encoded. A pattern that no request matches is a programming error, and so is one
    ///     with a placeholder, such as ":id" or "{id}".
    ///   - times: The number of requests for which the route is used, before an unlimited route with the same pattern.
    ///   - script: The steps to perform, all of them for each request.
    public func route(_ pattern: String, times: Int? = nil, _ script: Script) {
        let (method, path) = (RoutePattern(pattern).method, RoutePattern(pattern).path)
        let built = build(script)
        let status =
            if let times {
                afts_route_times(pointer, method, path, max(0, times), built)
            } else {
                afts_route(pointer, method, path, built)
            }
        RoutePattern.require(status != AFTS_EINVAL, pattern)
    }

    /// Responds to the first request with the first script, to the second one with the second, and so on; the last
    /// script responds to all further requests.
    ///
    /// ```swift
    /// server.route("GET /users/7", answers: [.status(503), .status(503), .json(#"{"id":7}"#)])
    /// ```
    ///
    /// It is the same as a route with `times: 1` for each script but the last, and a route without a limit for that.
    ///
    /// - Parameters:
    ///   - pattern: The requests: see ``route(_:times:_:)``.
    ///   - answers: One script for each request; at least one. A script with several steps is an array in the array.
    public func route(_ pattern: String, answers: [Script]) {
        precondition(!answers.isEmpty, "no answers for the pattern \"\(pattern)\"")
        for answer in answers.dropLast() { route(pattern, times: 1, answer) }
        for answer in answers.suffix(1) { route(pattern, answer) }
    }

    private func build(_ script: Script) -> OpaquePointer? {
        let mistake = script.mistake
        precondition(mistake == nil, "a script with \(mistake ?? "")")
        return script.build(failures)
    }

    /// Responds to requests with code: see ``Script/Handler``.
    ///
    /// The server keeps the handler. Capture the server weakly in a handler that uses it, or neither is ever freed, and
    /// the server never stops.
    public func route(_ pattern: String, times: Int? = nil, handler: @escaping Script.Handler) {
        route(pattern, times: times, .handler(handler))
    }

    /// Responds to requests with code that awaits: see ``Script/AsyncHandler``.
    ///
    /// ```swift
    /// server.route("POST /users") { request, connection in
    ///     let id = try await store.add(request.json(as: NewUser.self))
    ///     try connection.respond(201, headers: ["Location": "/users/\(id)"])
    /// }
    /// ```
    ///
    /// The server keeps the handler. Capture the server weakly in a handler that uses it.
    public func route(_ pattern: String, times: Int? = nil, handler: @escaping Script.AsyncHandler) {
        route(pattern, times: times, .handler(handler))
    }

    /// Responds to requests that don't match a route. Default: ``Script/echo``.
    public func fallback(_ script: Script) {
        afts_fallback(pointer, build(script))
    }

    /// Runs a script on a connection after its TLS handshake, before a request is read.
    ///
    /// - Parameters:
    ///   - index: The index of the connection, from 0; nil for every connection.
    ///   - script: The steps to perform.
    public func onConnection(_ index: Int?, _ script: Script) {
        afts_on_connection(pointer, index ?? everyConnection, build(script))
    }

    /// Runs a script on every connection after its TLS handshake, before a request is read.
    public func onConnection(_ script: Script) { onConnection(nil, script) }

    /// Runs a script on a connection before its TLS handshake.
    ///
    /// - Parameters:
    ///   - index: The index of the connection, from 0; nil for every connection.
    ///   - script: The steps to perform.
    public func onAccept(_ index: Int?, _ script: Script) {
        afts_on_accept(pointer, index ?? everyConnection, build(script))
    }

    /// Runs a script on every connection before its TLS handshake.
    public func onAccept(_ script: Script) { onAccept(nil, script) }

    // MARK: Gates

    /// Lets a number of scripts pass a gate, in the order in which they reach it: first those that wait at it, then the
    /// next ones.
    public func release(_ gate: String, permits: Int = 1) {
        afts_release(pointer, gate, max(0, permits))
    }

    /// Opens a gate permanently: all scripts pass it.
    public func open(_ gate: String) {
        afts_release(pointer, gate, everyPermit)
    }

    // MARK: The record

    /// The requests received so far, in order.
    public var requests: [Request] {
        var all: [Request] = []
        while let copy = afts_copy_request(pointer, all.count) {
            all.append(Request(copy.pointee))
            afts_request_free(copy)
        }
        return all
    }

    /// The requests so far that matched no route, so that the fallback answered them, in order.
    ///
    /// Tests whose routes should cover all requests can check that it is empty: without a fallback of the test's own,
    /// such requests are answered with 200.
    public var unroutedRequests: [Request] {
        requests.filter { !$0.isRouted }
    }

    /// The errors that handlers have thrown so far, in order, except ``ConnectionEnded``; at most the first 1000.
    public var handlerErrors: [any Error] {
        failures.all
    }

    /// The connections accepted so far, in order.
    public var connections: [ConnectionRecord] {
        var all: [ConnectionRecord] = []
        while let copy = afts_copy_connection(pointer, all.count) {
            all.append(ConnectionRecord(copy.pointee))
            afts_connection_free(copy)
        }
        return all
    }

    /// The current totals.
    public var statistics: Statistics {
        Statistics(afts_server_stats(pointer))
    }
}

/// SIZE_MAX, which means every connection, as an `Int`.
private let everyConnection = Int(bitPattern: UInt.max)
private let everyPermit = Int(bitPattern: UInt.max)

/// The error if a server or a certificate can't be created.
public struct TestServerError: Error, Sendable, CustomStringConvertible {
    /// The cause of the error.
    public let message: String

    /// The message of the error.
    public var description: String { message }
}
