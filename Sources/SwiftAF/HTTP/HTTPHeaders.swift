/// Header fields in order: names compare without case and keep theirs, repeats are kept.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers["X-Trace"] = "17"
/// headers.add(name: "X-Api-Key", value: key, secret: true)
/// headers.removeDefault("User-Agent")
/// ```
public struct HTTPHeaders: Sendable {
    /// The fields in the order they go on the wire, or came from it.
    public var fields: [Field] {
        switch storage {
        case .texts(let fields): fields
        case .received(let received): received.fields
        }
    }

    /// Names of headers that the library would add by itself and must not, in the order given.
    public private(set) var removedDefaults: [String] = []

    /// No fields.
    public init() {
        storage = .texts([])
    }

    /// The given fields, in order.
    public init(_ fields: [Field]) {
        storage = .texts(fields)
    }

    /// Fields that were received.
    package init(_ received: ReceivedFields) {
        storage = .received(received)
    }

    /// The given names and values, in order, repeats kept.
    public init(_ pairs: some Sequence<(String, String)>) {
        storage = .texts(pairs.map { Field(name: $0.0, value: $0.1) })
    }

    private enum Storage {
        case texts([Field])
        case received(ReceivedFields)
    }

    private var storage: Storage

    private func firstValue(of name: String) -> (value: String, isOnly: Bool)? {
        switch storage {
        case .received(let received):
            return received.firstValue(of: name)
        case .texts(let fields):
            guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else { return nil }
            return (fields[first].value, !fields[(first + 1)...].contains { $0.isNamed(name) })
        }
    }

    var fieldCount: Int {
        switch storage {
        case .texts(let fields): fields.count
        case .received(let received): received.count
        }
    }

    func field(at position: Int) -> Field {
        switch storage {
        case .texts(let fields): fields[position]
        case .received(let received): received[position]
        }
    }

    /// Changes the fields where they are.
    private mutating func change<Result>(_ change: (inout [Field]) -> Result) -> Result {
        var fields = fields
        // So that the array has one owner meanwhile and is not copied.
        storage = .texts([])
        defer { storage = .texts(fields) }
        return change(&fields)
    }

    /// The values of every field called `name`, joined by a comma and a space as RFC 9110, section 5.2, allows;
    /// for `Set-Cookie`, which can't be joined, only the first.
    ///
    /// Setting replaces all fields of that name by one, at the place of the first, or at the end; setting `nil`
    /// removes them. A field set this way is secret if one of the replaced ones was.
    public subscript(name: String) -> String? {
        get {
            guard let (value, isOnly) = firstValue(of: name) else { return nil }
            guard !isOnly, !ASCII.equalIgnoringCase(name, Name.setCookie) else { return value }
            return values(for: name).joined(separator: ", ")
        }
        set {
            guard let newValue else { return remove(name) }
            set(name: name, value: newValue)
        }
    }

    /// The value of the first field called `name`.
    public func first(_ name: String) -> String? {
        switch storage {
        case .texts(let fields): fields.first { $0.isNamed(name) }?.value
        case .received(let received): received.firstValue(of: name)?.value
        }
    }

    /// The value of each field called `name`, in order.
    public func values(for name: String) -> [String] {
        switch storage {
        case .texts(let fields): fields.compactMap { $0.isNamed(name) ? $0.value : nil }
        case .received(let received): received.values(for: name)
        }
    }

    /// Whether there is a field called `name`.
    public func contains(_ name: String) -> Bool {
        switch storage {
        case .texts(let fields): fields.contains { $0.isNamed(name) }
        case .received(let received): received.contains(name)
        }
    }

    /// Appends a field, whatever is there already.
    ///
    /// - Parameter secret: True if the value must not appear in descriptions nor follow a redirect to another
    ///   origin. Credential headers are secret without being marked.
    public mutating func add(name: String, value: String, secret: Bool = false) {
        append(Field(name: name, value: value, isSecret: secret))
    }

    /// Appends a field, whatever is there already.
    public mutating func append(_ field: Field) {
        forgetRemovedDefault(field.name)
        change { $0.append(field) }
    }

    /// Replaces all fields called `name` by one, at the place of the first, or at the end.
    public mutating func set(name: String, value: String, secret: Bool = false) {
        forgetRemovedDefault(name)
        change { fields in
            let isMarked = secret || fields.contains { $0.isNamed(name) && $0.isMarkedSecret }
            let field = Field(name: name, value: value, isSecret: isMarked)
            guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else { return fields.append(field) }
            fields[first] = field
            guard let next = fields[(first + 1)...].firstIndex(where: { $0.isNamed(name) }) else { return }
            let rest = fields[next...].filter { !$0.isNamed(name) }
            fields.replaceSubrange(next..., with: rest)
        }
    }

    /// Removes every field called `name`. A default of the library is added nevertheless;
    /// see ``removeDefault(_:)``.
    public mutating func remove(_ name: String) {
        guard contains(name) else { return }
        change { fields in fields.removeAll { $0.isNamed(name) } }
    }

    /// Removes every field called `name` and keeps the library, and libcurl below it, from adding its own,
    /// as in `headers.removeDefault("Accept")`. Adding a field of that name later takes this back.
    public mutating func removeDefault(_ name: String) {
        remove(name)
        forgetRemovedDefault(name)
        removedDefaults.append(name)
    }

    /// Whether ``removeDefault(_:)`` was called for `name`.
    public func removesDefault(_ name: String) -> Bool {
        removedDefaults.contains { ASCII.equalIgnoringCase($0, name) }
    }

    /// Adds the fields of `defaults` whose names are neither here nor in ``removedDefaults``.
    public mutating func fillGaps(from defaults: HTTPHeaders) {
        // Defaults with one name are added together, so only what was there before counts.
        let present = self
        for field in defaults.fields where !present.contains(field.name) && !removesDefault(field.name) {
            change { $0.append(field) }
        }
    }

    /// Adds a field unless there is one of its name here or in ``removedDefaults``.
    mutating func fillGap(name: String, value: String) {
        guard !contains(name), !removesDefault(name) else { return }
        change { $0.append(Field(name: name, value: value)) }
    }

    /// Replaces what `other` names and adds the rest; repeats within `other` are kept.
    public mutating func merge(_ other: HTTPHeaders) {
        for field in other.fields { remove(field.name) }
        for field in other.fields { append(field) }
        for name in other.removedDefaults { removeDefault(name) }
    }

    private mutating func forgetRemovedDefault(_ name: String) {
        guard !removedDefaults.isEmpty else { return }
        removedDefaults.removeAll { ASCII.equalIgnoringCase($0, name) }
    }
}

extension HTTPHeaders {
    /// One header field.
    public struct Field: Sendable {
        /// The name with the case it was given or received in.
        public let name: String
        /// The value without white space around it.
        public let value: String
        let isMarkedSecret: Bool
        let isLatin1: Bool

        /// Makes a field; what can't go on the wire is refused when the request is validated.
        ///
        /// - Parameter isSecret: Marks the value as a secret in addition to the credential headers.
        public init(name: String, value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            isMarkedSecret = isSecret
            isLatin1 = false
        }

        /// Makes a field of received bytes, which are copied. A value that is not valid UTF-8 is read as
        /// ISO-8859-1, HTTP's historic encoding, so that no byte is lost.
        package init(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
            self.name = String(decoding: name, as: UTF8.self)
            isMarkedSecret = false
            (self.value, isLatin1) = Self.text(of: value)
        }

        static func text(of value: UnsafeBufferPointer<UInt8>) -> (text: String, isLatin1: Bool) {
            // Almost all values are ASCII, and telling so is much cheaper than validating.
            if value.allSatisfy({ $0 < 0x80 }) { return (String(decoding: value, as: UTF8.self), false) }
            if let text = String(validating: value, as: UTF8.self) { return (text, false) }
            return (String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) })), true)
        }

        /// The value's bytes as they were on the wire, or will be.
        public var rawValue: [UInt8] {
            isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
        }

        /// Whether the value must be hidden: a credential header, or one that was marked.
        public var isSecret: Bool {
            isMarkedSecret || HTTPHeaders.isCredential(name)
        }

        /// Whether the field is called `name`, case aside.
        public func isNamed(_ name: String) -> Bool {
            ASCII.equalIgnoringCase(self.name, name)
        }
    }

    /// Names of common fields, spelled as the RFCs spell them.
    public enum Name {
        public static let accept = "Accept"
        public static let acceptEncoding = "Accept-Encoding"
        public static let acceptLanguage = "Accept-Language"
        public static let authorization = "Authorization"
        public static let cacheControl = "Cache-Control"
        public static let contentDisposition = "Content-Disposition"
        public static let contentEncoding = "Content-Encoding"
        public static let contentLength = "Content-Length"
        public static let contentRange = "Content-Range"
        public static let contentType = "Content-Type"
        public static let cookie = "Cookie"
        public static let date = "Date"
        public static let eTag = "ETag"
        public static let host = "Host"
        public static let ifMatch = "If-Match"
        public static let ifNoneMatch = "If-None-Match"
        public static let ifRange = "If-Range"
        public static let lastModified = "Last-Modified"
        public static let location = "Location"
        public static let proxyAuthorization = "Proxy-Authorization"
        public static let range = "Range"
        public static let referer = "Referer"
        public static let retryAfter = "Retry-After"
        public static let setCookie = "Set-Cookie"
        public static let transferEncoding = "Transfer-Encoding"
        public static let userAgent = "User-Agent"
        public static let wwwAuthenticate = "WWW-Authenticate"
    }

    /// Whether a header of this name carries credentials, marked or not.
    static func isCredential(_ name: String) -> Bool {
        // All four are told apart by their length, so most names cost one comparison.
        switch name.utf8.count {
        case 6: ASCII.equalIgnoringCase(name, Name.cookie)
        case 10: ASCII.equalIgnoringCase(name, Name.setCookie)
        case 13: ASCII.equalIgnoringCase(name, Name.authorization)
        case 19: ASCII.equalIgnoringCase(name, Name.proxyAuthorization)
        default: false
        }
    }
}
