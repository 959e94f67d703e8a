import Glibc

/// Tells hosts that are addresses from names.
enum IPAddress {
    enum Family {
        case v4, v6
    }

    /// Whether a text is an IPv4 or IPv6 address.
    static func isAddress(_ text: String) -> Bool { family(of: text) != nil }

    /// Whether a host is an address of 127.0.0.0/8, in any spelling, or `[::1]`.
    static func isLoopback(_ host: String) -> Bool {
        var v4 = in_addr()
        return host == "[::1]" || (inet_aton(host, &v4) != 0 && UInt32(bigEndian: v4.s_addr) >> 24 == 127)
    }

    /// The family of a host that is an address, in any spelling that URLs allow; nil for a name.
    static func family(of host: String) -> Family? {
        var (v4, v6) = (in_addr(), in6_addr())
        let host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        if inet_pton(AF_INET6, host, &v6) == 1 { return .v6 }
        // Also 127.1 and numbers, which libcurl takes for addresses.
        return inet_aton(host, &v4) != 0 ? .v4 : nil
    }
}
