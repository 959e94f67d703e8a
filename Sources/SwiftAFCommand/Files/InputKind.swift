/// The purpose of a file that is read as a whole. It limits the size, because a device such as /dev/zero has no end.
enum InputKind {
    /// A password, a token, cookies, or the URL of a proxy.
    case secret
    /// The value of a header or a query item.
    case item
    /// The value of a body field. Its text is escaped in memory, where it may take six times as much.
    case field
    /// A file of netrc.
    case netrc
    /// Certificates or a key.
    case certificates
    /// Cookies, HSTS hosts, or a session.
    case store

    /// The limit in bytes.
    var maximumSize: Int {
        switch self {
        case .secret: 64 << 10
        case .item: 1 << 20
        case .field: 64 << 20
        case .netrc, .certificates: 8 << 20
        case .store: 32 << 20
        }
    }

    /// The kind with an article, and what takes a larger file.
    var description: String {
        switch self {
        case .secret: "a secret"
        case .item: "the value of a header or a query item"
        case .field:
            """
            a file in a body field; -d @PATH sends a file of any size as the body, upload NAME@PATH as a part of a form
            """
        case .netrc: "a netrc file"
        case .certificates: "certificates and keys"
        case .store: "cookies, HSTS hosts and sessions"
        }
    }
}
