import Glibc

/// What the kernel holds of one connection whose two ends are in this process: bytes that were sent and have not
/// arrived, or have arrived and were not read, are only in the kernel's memory.
struct SocketQueues {
    private let server: Int32
    private let client: Int32

    /// Nil if the process has no such connection.
    init?(serverPort: Int, clientPort: Int) {
        let descriptors = 0..<Int32(clamping: getdtablesize())
        func end(_ port: Int, _ peer: Int) -> Int32? {
            descriptors.first { Self.port(getsockname, $0) == port && Self.port(getpeername, $0) == peer }
        }
        guard let server = end(serverPort, clientPort), let client = end(clientPort, serverPort) else { return nil }
        (self.server, self.client) = (server, client)
    }

    /// The bytes sent by the server that have left the kernel, while the client reads nothing.
    func bytesOutside(_ sent: () -> UInt64) -> Int {
        while true {
            // The server may still be filling the kernel's buffers: counted when nothing moved while it was counted.
            let before = sent()
            let queued = bytesInKernel
            if sent() == before, bytesInKernel == queued { return Int(before) - queued }
        }
    }

    private var bytesInKernel: Int {
        var sending: Int32 = 0
        var receiving: Int32 = 0
        _ = ioctl(server, UInt(TIOCOUTQ), &sending)
        _ = ioctl(client, UInt(FIONREAD), &receiving)
        return Int(sending) + Int(receiving)
    }

    private static func port(
        _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32, _ descriptor: Int32
    ) -> Int? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &size) }
        }
        guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
