internal import CAFCore
import FoundationEssentials
import Glibc

/// Copies values for a call into the core. The copies live as long as this object. Their memory is overwritten before
/// it is freed, because it may hold keys and passwords.
final class CoreArena {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in blocks {
            if let start = block.baseAddress { explicit_bzero(start, block.count) }
            block.deallocate()
        }
    }

    /// Calls `body` with an arena that lives until `body` returns. Throws the core's failure if the status isn't
    /// `AFC_OK`.
    static func call(
        _ body: (CoreArena, inout afc_failure) throws(SessionError) -> afc_status
    ) throws(SessionError) {
        let arena = CoreArena()
        var failure = afc_failure()
        let status = try body(arena, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AFC_OK else { throw SessionError(failure) }
    }

    /// Returns a NUL-terminated copy of a string; nil for nil. `name` describes the string in the error.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a string that contains NUL, which the core would truncate.
    func copy(_ text: String?, _ name: String) throws(SessionError) -> UnsafePointer<CChar>? {
        guard var text else { return nil }
        guard !text.containsNUL else { throw SessionError(.invalidInput, message: "\(name) contains NUL") }
        let block = reserve(text.utf8.count + 1)
        text.withUTF8 { block.copyMemory(from: UnsafeRawBufferPointer($0)) }
        block[text.utf8.count] = 0
        return UnsafePointer(block.baseAddress?.assumingMemoryBound(to: CChar.self))
    }

    func copy(_ data: Data) -> afc_slice {
        let block = reserve(data.count)
        data.withUnsafeBytes { block.copyMemory(from: $0) }
        return afc_slice(UnsafeRawBufferPointer(block))
    }

    /// Returns a copy of an array; nil if it is empty.
    func copy<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element>? {
        guard !elements.isEmpty else { return nil }
        let block = reserve(elements.count * MemoryLayout<Element>.stride)
        elements.withUnsafeBytes { block.copyMemory(from: $0) }
        return UnsafePointer(block.baseAddress?.assumingMemoryBound(to: Element.self))
    }

    /// Copies the fields and the suppressed defaults as the core's headers, such as for the replacement of a redirect.
    func copy(_ headers: HTTPHeaders) -> UnsafeBufferPointer<afc_header> {
        let stride = MemoryLayout<afc_header>.stride
        let core = reserve((headers.fields.count + headers.suppressedDefaults.count) * stride)
            .bindMemory(to: afc_header.self)
        var texts = CStringArena(reserve(CStringArena.size(of: headers)).bindMemory(to: UInt8.self))
        return UnsafeBufferPointer(start: core.baseAddress, count: texts.put(headers, into: core))
    }

    /// Copies a credential. Throws ``SessionError/Code/invalidInput`` if one of its strings contains NUL.
    func copy(_ credential: Credential) throws(SessionError) -> UnsafePointer<afc_credentials>? {
        var core = afc_credentials()
        core.user = try copy(credential.user, "the user of a credential")
        core.password = try copy(credential.password, "the password of a credential")
        core.token = try copy(credential.token, "the token of a credential")
        core.schemes = credential.schemes == .any ? 0 : credential.schemes.rawValue
        core.send_preemptively = credential.isPreemptive
        return copy([core])
    }

    func copy(_ proxies: ProxyConfiguration) throws(SessionError) -> afc_proxies {
        var core = afc_proxies()
        core.source =
            switch proxies.source {
            case .environment: .AFC_PROXIES_ENVIRONMENT
            case .given: .AFC_PROXIES_GIVEN
            case .direct: .AFC_PROXIES_NONE
            }
        guard ![proxies.http, proxies.https, proxies.all].contains("") else {
            throw SessionError(.invalidInput, message: "the URL of a proxy is empty; without one, use .direct")
        }
        core.http = try copy(proxies.http, "the URL of the proxy for http")
        core.https = try copy(proxies.https, "the URL of the proxy for https")
        core.all = try copy(proxies.all, "the URL of the proxy for all schemes")
        core.bypass = try copy(proxies.bypass, "the list of hosts without a proxy")
        return core
    }

    /// Allocates a block that lives as long as this object.
    private func reserve(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        blocks.append(block)
        return block
    }
}
