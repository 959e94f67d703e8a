import Dispatch
import FoundationEssentials
import Glibc

/// A raw TCP client: says exactly what a test tells it.
final class Client {
    struct Failure: Error, CustomStringConvertible {
        let call: String
        /// The errno of the call.
        let number: Int32

        init(_ call: String, _ number: Int32 = errno) {
            (self.call, self.number) = (call, number)
        }

        var description: String { "\(call): errno \(number)" }
    }

    private var descriptor: Int32

    /// - Parameter patience: the time limit of the connect; nil for the system's.
    init(port: Int, patience: Duration? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if let patience {
            let microseconds = Int(patience.components.attoseconds / 1_000_000_000_000)
            var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: microseconds)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(clamping: port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            let number = errno
            close()
            throw Failure("connect", number)
        }
    }

    deinit {
        close()
    }

    func close() {
        if descriptor >= 0 {
            _ = Glibc.close(descriptor)
            descriptor = -1
        }
    }

    func reset() {
        var immediately = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &immediately, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func finishSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { throw Failure("send") }
            rest = rest.dropFirst(sent)
        }
    }

    /// At most `count` bytes; empty at the end of input.
    func receive(upTo count: Int = 65_536) throws -> Data {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, 0)
        guard received >= 0 else { throw Failure("receive") }
        return Data(bytes.prefix(received))
    }

    /// As many bytes as `text` has, as text.
    func receive(asLongAs text: String) throws -> String {
        String(decoding: try receive(count: text.utf8.count), as: UTF8.self)
    }

    /// A number of bytes; fewer if the input ends before.
    func receive(count: Int) throws -> Data {
        var all = Data()
        while all.count < count {
            let piece = try receive(upTo: count - all.count)
            if piece.isEmpty { break }
            all.append(piece)
        }
        return all
    }

    /// Everything until the server ends its direction.
    func receiveAll() throws -> String {
        var all = Data()
        while case let piece = try receive(), !piece.isEmpty {
            all.append(piece)
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Does something that blocks while other tasks of the test go on.
    static func onAnotherThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            // A queue of its own has a thread of its own; the pool has one for each processor, which tests run on.
            DispatchQueue(label: "client").async { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Sends a request for a path that asks for a closed connection, and takes the whole answer.
    static func exchange(_ server: Int, _ requestLine: String) throws -> String {
        let client = try Client(port: server)
        try client.send("\(requestLine) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return try client.receiveAll()
    }
}
