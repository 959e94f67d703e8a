/// Header fields in order. Names are case-insensitive and keep their case; duplicates are kept.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers[.contentType] = "text/plain"
/// headers["X-Trace"] = "17"
/// headers.add(name: "X-License", value: key, isSecret: true)
/// headers.suppressDefault(.userAgent)
/// ```
///
/// Every call that takes the name of a field takes a `String` or a ``Name``.
public struct HTTPHeaders: Sendable {
    /// The fields, in the order they are sent or were received.
    public var fields: [Field] {
        switch storage {
        case .texts(let fields): fields
        case .received(let received): received.fields
        }
    }

    /// The names of default fields that are not added, in order.
    public private(set) var suppressedDefaults: [String] = []

    /// Creates an empty list of fields.
    public init() {
        storage = .texts([])
    }

    /// Creates a list of fields, in order.
    public init(_ fields: [Field]) {
        storage = .texts(fields)
    }

    /// Creates a list of received fields.
    package init(_ received: ReceivedFields) {
        storage = .received(received)
    }

    /// Creates a list of names and values, in order; duplicates are kept.
    public init(_ pairs: some Sequence<(String, String)>) {
        storage = .texts(pairs.map { Field(name: $0.0, value: $0.1) })
    }

    /// Creates a list from a dictionary. The fields are sorted by name, because the order of a dictionary differs in
    /// each run of the program. A literal needs no initializer, and keeps its order and duplicates.
    ///
    /// ```swift
    /// let headers = HTTPHeaders(settings.fields)      // [String: String]
    /// ```
    public init(_ dictionary: [String: String]) {
        self.init(dictionary.sortedByKey.map { Field(name: $0.key, value: $0.value) })
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

    /// Changes the fields in place, without a copy of the array.
    private mutating func change<Result>(_ change: (inout [Field]) -> Result) -> Result {
        var fields = fields
        // Releases the other reference to the array, so that a change doesn't copy it.
        storage = .texts([])
        defer { storage = .texts(fields) }
        return change(&fields)
    }

    /// The values of all fields named `name`, joined with ", " (RFC 9110 5.2); for `Set-Cookie`, which can't be joined,
    /// only the first.
    ///
    /// Setting replaces all fields of that name with one, at the position of the first or at the end; setting nil
    /// removes them. The new field is secret if one of the replaced ones was.
    public subscript(name: String) -> String? {
        get {
            guard let (value, isOnly) = firstValue(of: name) else { return nil }
            guard !isOnly, !ASCII.equalIgnoringCase(name, Name.setCookie.text) else { return value }
            return values(named: name).joined(separator: ", ")
        }
        set {
            guard let newValue else { return remove(named: name) }
            set(name: name, value: newValue)
        }
    }

    /// The value of the first field named `name`.
    public func first(named name: String) -> String? {
        switch storage {
        case .texts(let fields): fields.first { $0.isNamed(name) }?.value
        case .received(let received): received.firstValue(of: name)?.value
        }
    }

    /// The values of all fields named `name`, in order.
    public func values(named name: String) -> [String] {
        switch storage {
        case .texts(let fields): fields.compactMap { $0.isNamed(name) ? $0.value : nil }
        case .received(let received): received.values(named: name)
        }
    }

    /// Whether there is a field named `name`.
    // Not inlined, like others below, because many places call them.
    @inline(never)
    public func contains(named name: String) -> Bool {
        switch storage {
        case .texts(let fields): fields.contains { $0.isNamed(name) }
        case .received(let received): received.contains(name)
        }
    }

    /// Appends a field; existing fields of that name stay.
    ///
    /// - Parameters:
    ///   - name: The name. Its case is kept, and ignored by comparisons.
    ///   - value: The value.
    ///   - isSecret: Whether to hide the value in descriptions and to drop the field on a redirect to another origin.
    ///     Authorization, Cookie and similar fields are always secret.
    public mutating func add(name: String, value: String, isSecret: Bool = false) {
        add(Field(name: name, value: value, isSecret: isSecret))
    }

    /// Appends a field; existing fields of that name stay.
    @inline(never)
    public mutating func add(_ field: Field) {
        forgetSuppressedDefault(field.name)
        change { $0.append(field) }
    }

    /// Replaces all fields named `name` with one, at the position of the first or at the end.
    public mutating func set(name: String, value: String, isSecret: Bool = false) {
        forgetSuppressedDefault(name)
        change { fields in
            let isMarked = isSecret || fields.contains { $0.isNamed(name) && $0.isMarkedSecret }
            let field = Field(name: name, value: value, isSecret: isMarked)
            guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else { return fields.append(field) }
            fields[first] = field
            guard let next = fields[(first + 1)...].firstIndex(where: { $0.isNamed(name) }) else { return }
            let rest = fields[next...].filter { !$0.isNamed(name) }
            fields.replaceSubrange(next..., with: rest)
        }
    }

    /// Removes all fields named `name`. The library's default is still added; see ``suppressDefault(_:)-(String)``.
    @inline(never)
    public mutating func remove(named name: String) {
        guard contains(named: name) else { return }
        change { fields in fields.removeAll { $0.isNamed(name) } }
    }

    /// Removes all fields named `name`, and keeps the library and libcurl from adding a default, as in
    /// `headers.suppressDefault("Accept")`. Adding a field of that name later reverts this.
    @inline(never)
    public mutating func suppressDefault(_ name: String) {
        remove(named: name)
        forgetSuppressedDefault(name)
        suppressedDefaults.append(name)
    }

    /// Whether ``suppressDefault(_:)-(String)`` was called for `name`.
    @inline(never)
    public func isSuppressed(_ name: String) -> Bool {
        suppressedDefaults.contains { ASCII.equalIgnoringCase($0, name) }
    }

    /// Adds the fields of `defaults` whose names are neither present nor in ``suppressedDefaults``, and suppresses the
    /// library's defaults that `defaults` suppresses. A present field becomes secret if that of `defaults` is.
    public mutating func fillGaps(from defaults: HTTPHeaders) {
        if isEmpty, suppressedDefaults.isEmpty, defaults.suppressedDefaults.isEmpty {
            self = defaults
            return
        }
        // Compared with the fields from before this call, so that several defaults with the same name are all added.
        let present = self
        for field in defaults.fields {
            if present.contains(named: field.name) {
                if field.isMarkedSecret { markSecret(field.name) }
            } else if !isSuppressed(field.name) {
                change { $0.append(field) }
            }
        }
        for name in defaults.suppressedDefaults where !present.contains(named: name) && !isSuppressed(name) {
            suppressedDefaults.append(name)
        }
    }

    /// A copy without secret fields.
    var withoutSecrets: HTTPHeaders {
        var headers = self
        headers.change { $0.removeAll(where: \.isSecret) }
        return headers
    }

    /// Removes those secret fields that `other` also has, with the same value.
    ///
    /// - Parameter isKept: Returns whether a field stays nevertheless.
    mutating func removeSecrets(of other: HTTPHeaders, unless isKept: (Field) -> Bool) {
        let secrets = other.fields.filter { $0.isSecret && !isKept($0) }
        guard !secrets.isEmpty else { return }
        change { fields in
            fields.removeAll { field in secrets.contains { $0.isNamed(field.name) && $0.value == field.value } }
        }
    }

    /// Adds a field unless its name is present or in ``suppressedDefaults``.
    ///
    /// - Parameter value: Evaluated only if the field is added.
    package mutating func fillGap(name: String, value: @autoclosure () -> String) {
        guard !contains(named: name), !isSuppressed(name) else { return }
        let field = Field(name: name, value: value())
        change { $0.append(field) }
    }

    /// Replaces the fields whose names are in `other`, and adds the rest; duplicates in `other` are kept. A new field
    /// is secret if one of those that it replaces was.
    public mutating func merge(_ other: HTTPHeaders) {
        let marked = fields.filter(\.isMarkedSecret)
        for field in other.fields { remove(named: field.name) }
        for field in other.fields { add(field) }
        for field in marked where other.contains(named: field.name) { markSecret(field.name) }
        for name in other.suppressedDefaults { suppressDefault(name) }
    }

    /// Marks all fields of a name as secret.
    @inline(never)
    package mutating func markSecret(_ name: String) {
        change { fields in
            for index in fields.indices where fields[index].isNamed(name) { fields[index].isMarkedSecret = true }
        }
    }

    /// Returns those names that are marked as secret in `other` but not here. Copies of fields, such as in a
    /// `URLRequest`, lose their marks.
    func namesWithoutMark(of other: HTTPHeaders) -> [String] {
        var names: [String] = []
        let marked = other.fields
        for index in marked.indices where marked[index].isMarkedSecret {
            let name = marked[index].name
            if fields.contains(where: { !$0.isMarkedSecret && $0.isNamed(name) }) { names.append(name) }
        }
        return names
    }

    private mutating func forgetSuppressedDefault(_ name: String) {
        guard !suppressedDefaults.isEmpty else { return }
        suppressedDefaults.removeAll { ASCII.equalIgnoringCase($0, name) }
    }
}

extension HTTPHeaders {
    /// One header field.
    public struct Field: Sendable {
        /// The name, with its case.
        public let name: String
        /// The value. White space around it isn't part of it (RFC 9110 5.5): a received value has none, and receivers
        /// ignore that of a sent one.
        public let value: String
        var isMarkedSecret: Bool
        let isLatin1: Bool

        /// Creates a field. Invalid characters are refused when the request is validated.
        ///
        /// - Parameters:
        ///   - name: The name. Its case is kept, and ignored by comparisons.
        ///   - value: The value.
        ///   - isSecret: Whether the value is secret; Authorization and similar fields always are.
        public init(name: String, value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            isMarkedSecret = isSecret
            isLatin1 = false
        }

        /// Creates a field from its stored parts.
        ///
        /// - Parameter isLatin1: Whether the bytes of the value are ISO-8859-1. Ignored if it has other characters.
        init(name: String, value: String, isSecret: Bool, isLatin1: Bool) {
            self.name = name
            self.value = value
            isMarkedSecret = isSecret
            self.isLatin1 = isLatin1 && value.unicodeScalars.allSatisfy { $0.value <= 0xFF }
        }

        /// Creates a field from received bytes, which are copied. A value that isn't valid UTF-8 is decoded as
        /// ISO-8859-1 (RFC 9110 5.5), so that no byte is lost.
        package init(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
            self.name = String(decoding: name, as: UTF8.self)
            isMarkedSecret = false
            (self.value, isLatin1) = Self.text(of: value)
        }

        static func text(of value: UnsafeBufferPointer<UInt8>) -> (text: String, isLatin1: Bool) {
            // The fast path: almost all values are ASCII, which is much cheaper to check than UTF-8.
            if value.allSatisfy({ $0 < 0x80 }) { return (String(decoding: value, as: UTF8.self), false) }
            if let text = String(validating: value, as: UTF8.self) { return (text, false) }
            return (String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) })), true)
        }

        /// The bytes of the value, as sent or received.
        public var rawValue: [UInt8] {
            isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
        }

        /// Whether the value is a secret: it is hidden in logs, and not sent to another origin after a redirect.
        ///
        /// True for fields that were marked secret, and for these names, in any case: `Authorization`,
        /// `Proxy-Authorization`, `Cookie`, `Set-Cookie`, `Cookie2` and `Set-Cookie2`. True also for names that end
        /// with `Token`, `Secret`, `Password`, `ApiKey`, `Api-Key`, `Access-Key`, `Application-Key`, `Auth-Key`,
        /// `Functions-Key`, `Master-Key`, `Secret-Key` or `Subscription-Key`, such as `X-Api-Key`, `X-CSRFToken` and
        /// `Private-Token`; and for `Fastly-Key` and `X-Authorization`.
        public var isSecret: Bool {
            isMarkedSecret || CoreField.isCredential(name)
        }

        /// Whether the field is named `name`, ignoring case.
        public func isNamed(_ name: String) -> Bool {
            ASCII.equalIgnoringCase(self.name, name)
        }
    }
}
