import CAFTestServer
import Dispatch
public import FoundationEssentials

/// A scripted HTTP/1.1 server on loopback, for testing HTTP clients.
///
/// It says exactly what it is told, with pauses, truncation, resets, stalls and broken framing, and
/// remembers exactly what it got.
///
/// ```swift
/// let server = try TestServer()
/// server.route("GET /user", .json(#"{"name":"Ada"}"#))
/// server.route("POST /upload", [.readHeadOnly, .status(413, headers: ["Connection": "close"])])
///
/// // … let the client load server.url("/user") …
///
/// #expect(await server.waitForRequests(1))
/// #expect(server.requests[0]["Accept"] == "application/json")
/// ```
///
/// A server listens from its creation on, on a free port of 127.0.0.1, until ``stop()`` or until nobody
/// holds it any more. A request that no route matches is echoed: see ``Script/echo``.
///
/// All members may be used from any thread. Scripts and waits need no sleeps: a script waits at a
/// *gate* with ``Script/stall(at:)``, the test knows it there by ``waitForStalled(at:count:timeout:)``, and
/// lets it pass by ``release(_:permits:)``.
public final class TestServer: Sendable {
    /// The C server, whose functions are all thread-safe.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let handle: Handle
    private var pointer: OpaquePointer { handle.pointer }

    /// The port that the server listens on.
    public let port: Int

    /// Makes a server and starts it.
    ///
    /// - Parameters:
    ///   - tls: how it speaks TLS; nil for plain text.
    ///   - options: limits, buffers, and the address family.
    /// - Throws: ``TestServerError`` when the TLS settings are unusable or no socket can be had.
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
        // A handler may have held the last reference, and the server waits for its handlers.
        if afts_in_handler() {
            DispatchQueue.global().async { afts_server_free(handle.pointer) }
        } else {
            afts_server_free(handle.pointer)
        }
    }

    /// Ends every connection, whatever its script is doing, and stops listening. What was recorded can
    /// still be read. From inside a handler it returns before the server has stopped.
    public func stop() {
        if afts_in_handler() {
            DispatchQueue.global().async { afts_server_stop(self.pointer) }
        } else {
            afts_server_stop(pointer)
        }
    }

    // MARK: Addresses

    /// "http://127.0.0.1:40123/path", or "https…".
    ///
    /// - Parameter path: begins with a slash; it is not escaped.
    public func urlString(_ path: String = "/") -> String {
        let length = afts_server_url(pointer, path, nil, 0)
        return String(unsafeUninitializedCapacity: length + 1) { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                min(length, afts_server_url(pointer, path, $0.baseAddress, $0.count))
            }
        }
    }

    /// The same as a URL; what a URL can't hold is escaped.
    public func url(_ path: String = "/") -> URL {
        URL(string: urlString(path)) ?? URL(filePath: path)
    }

    // MARK: Routes

    /// Answers requests by a script.
    ///
    /// The most specific route wins: an exact path before a prefix, a longer prefix before a shorter one,
    /// one with a method before one without. A route replaces an earlier one with the same pattern.
    ///
    /// - Parameters:
    ///   - pattern: "GET /path", "/path" for every method, "/files/*" for every target with that prefix.
    ///     The query isn't compared.
    ///   - times: serves only so many requests, before an unlimited route with the same pattern.
    public func route(_ pattern: String, times: Int? = nil, _ script: Script) {
        let words = pattern.split(separator: " ", maxSplits: 1)
        let method = words.count == 2 ? String(words[0]) : nil
        let path = String(words.last ?? "")
        if let times {
            afts_route_times(pointer, method, path, max(0, times), script.build())
        } else {
            afts_route(pointer, method, path, script.build())
        }
    }

    /// Answers requests by code.
    public func route(_ pattern: String, handler: @escaping Script.Handler) {
        route(pattern, .handler(handler))
    }

    /// Answers the requests that no route matches, in place of ``Script/echo``.
    public func fallback(_ script: Script) {
        afts_fallback(pointer, script.build())
    }

    /// Runs a script on a connection after its TLS handshake, before a request is read.
    ///
    /// - Parameter index: the connection's number, from 0; nil for every connection.
    public func onConnection(_ index: Int? = nil, _ script: Script) {
        afts_on_connection(pointer, index ?? everyConnection, script.build())
    }

    /// Runs a script on a connection before its TLS handshake.
    ///
    /// - Parameter index: the connection's number, from 0; nil for every connection.
    public func onAccept(_ index: Int? = nil, _ script: Script) {
        afts_on_accept(pointer, index ?? everyConnection, script.build())
    }

    // MARK: Gates

    /// Lets so many scripts pass a gate: those that wait at it, and otherwise the next to come.
    public func release(_ gate: String, permits: Int = 1) {
        afts_release(pointer, gate, max(0, permits))
    }

    /// Lets every script pass a gate, now and later.
    public func open(_ gate: String) {
        afts_release(pointer, gate, everyPermit)
    }

    // MARK: The record

    /// The requests so far, in order.
    public var requests: [Request] {
        var all: [Request] = []
        while let copy = afts_copy_request(pointer, all.count) {
            all.append(Request(copy.pointee))
            afts_request_free(copy)
        }
        return all
    }

    /// The connections so far, in order.
    public var connections: [ConnectionRecord] {
        var all: [ConnectionRecord] = []
        while let copy = afts_copy_connection(pointer, all.count) {
            all.append(ConnectionRecord(copy.pointee))
            afts_connection_free(copy)
        }
        return all
    }

    /// Totals at this moment.
    public var statistics: Statistics {
        Statistics(afts_server_stats(pointer))
    }

    /// Waits on the calling thread: the ground of all waits.
    func wait(_ timeout: Duration, _ condition: (OpaquePointer, Int32) -> Bool) -> Bool {
        condition(pointer, Int32(clamping: timeout.wholeMilliseconds))
    }
}

/// SIZE_MAX, as Swift sees a size_t.
private let everyConnection = Int(bitPattern: UInt.max)
private let everyPermit = Int(bitPattern: UInt.max)

/// Why a server or a certificate could not be made.
public struct TestServerError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public let message: String

    /// The message.
    public var description: String { message }
}
