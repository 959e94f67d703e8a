import Foundation

/// What a test can't do because the system refused.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    /// Reads `errno`: to be made directly after the call that failed.
    init(_ call: String) {
        description = "\(call): \(String(cString: strerror(errno)))"
    }
}

/// A socket that listens on a free port of the loopback interface, for a server to inherit.
///
/// The port is taken and connections queue from the first moment, so no other program can take it before the server has
/// started, and no client has to wait for the server to have started.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: Int

    /// - Parameter isOpen: If not, the port is taken but refuses connections.
    init(isOpen: Bool = true) throws {
        descriptor = try above(socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && (!isOpen || listen(descriptor, 512) == 0)
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw SystemFailure("bind") }
    }

    deinit {
        close(descriptor)
    }
}

/// What ``above(_:)`` gives is no less.
let firstOwnDescriptor: Int32 = 100

/// The same file at a number from ``firstOwnDescriptor`` up, out of the way of those that a child gets; not inherited
/// by itself.
func above(_ descriptor: Int32) throws -> Int32 {
    guard descriptor >= 0 else { throw SystemFailure("open") }
    defer { close(descriptor) }
    let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, firstOwnDescriptor)
    guard moved >= 0 else { throw SystemFailure("fcntl") }
    return moved
}

/// A folder that only the tests know. Deleted with the last reference, or by the server that works in it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array((NSTemporaryDirectory() + "swiftaf-interop-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try write(Data(text.utf8), to: name)
    }

    func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)), options: .alwaysMapped)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
