import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF

/// Passes connections on to a port of this machine: as a proxy for CONNECT, or from a Unix-domain socket.
final class Relay: Sendable {
    /// The port it listens on; 0 for a Unix-domain socket.
    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let answersConnect: Bool
    private let seen = Heads()

    /// Answers CONNECT, for whichever host, with a tunnel to `target`.
    convenience init(tunnelTo target: some BinaryInteger) throws {
        let listener = socket(AF_INET, streamCloseOnExec, 0)
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout.size(ofValue: address))
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 ? getsockname(listener, $0, &size) : -1
            }
        }
        guard status == 0 else { throw CocoaError(.fileReadUnknown) }
        try self.init(listener, UInt16(target), port: UInt16(bigEndian: address.sin_port), answersConnect: true)
    }

    /// Listens on a Unix-domain socket.
    convenience init(path: String, to target: some BinaryInteger) throws {
        let listener = socket(AF_UNIX, streamCloseOnExec, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.dropLast().copyBytes(from: path.utf8.prefix(107)) }
        let size = socklen_t(MemoryLayout.size(ofValue: address))
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        guard status == 0 else { throw CocoaError(.fileReadUnknown) }
        try self.init(listener, UInt16(target), port: 0, answersConnect: false)
    }

    private init(_ listener: Int32, _ target: UInt16, port: UInt16, answersConnect: Bool) throws {
        (self.listener, self.target, self.port, self.answersConnect) = (listener, target, port, answersConnect)
        guard listen(listener, 16) == 0 else { throw CocoaError(.fileReadUnknown) }
        // Each connection blocks a thread of its own. The descriptor is closed by the one that accepts.
        DispatchQueue(label: "tests.relay").async { [seen] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                DispatchQueue(label: "tests.relay.connection").async {
                    Self.serve(client, target, answersConnect ? seen : nil)
                }
            }
            close(listener)
        }
    }

    deinit {
        // Ends the wait in accept.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The heads of the CONNECT requests so far.
    var heads: [String] { seen.list.withLock { $0 } }

    private final class Heads: Sendable {
        let list = Locked<[String]>([])
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func serve(_ client: Int32, _ target: UInt16, _ seen: Heads?) {
        let server = socket(AF_INET, streamCloseOnExec, 0)
        defer {
            for end in [client, server] {
                // Another test's process may have a copy of the descriptor.
                shutdown(end, Int32(SHUT_RDWR))
                close(end)
            }
        }
        let address = loopback(target)
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { return }
        if let seen {
            guard let head = readHead(client) else { return }
            seen.list.withLock { $0.append(head) }
            guard pass(Array("HTTP/1.1 200 Tunnel\r\nVia: relay\r\n\r\n".utf8)[...], to: client) else { return }
        }
        pump(client, server)
    }

    /// Reads to the end of a head and not a byte more.
    private static func readHead(_ descriptor: Int32) -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            guard head.count < 64 << 10, read(descriptor, &byte, 1) == 1 else { return nil }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Passes bytes on in both directions until either side ends.
    private static func pump(_ client: Int32, _ server: Int32) {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            var ends = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&ends, 2, -1) > 0 || errno == EINTR else { return }
            for (index, end) in ends.enumerated() where end.revents != 0 {
                let count = read(end.fd, &piece, piece.count)
                guard count > 0, pass(piece[..<count], to: index == 0 ? server : client) else { return }
            }
        }
    }

    private static func pass(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
