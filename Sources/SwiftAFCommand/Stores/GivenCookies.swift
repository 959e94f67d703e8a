import SwiftAF

/// The cookies of the command line, which are sent together with those of the jar: for the library, a Cookie field
/// replaces the jar's cookies.
struct GivenCookies: Sendable {
    private static let separator = Array("; ".utf8)

    /// The value of the first Cookie field.
    private let value: [UInt8]
    private let names: Set<String>
    private let jar: CookieStorage

    /// - Returns: Nil without a Cookie field or a jar.
    init?(of request: HTTPRequest, beside jar: CookieStorage?) {
        guard let jar, let field = request.headers.fields.first(where: { $0.isNamed(.cookie) }) else {
            return nil
        }
        self.jar = jar
        value = field.rawValue
        names = Set(field.value.split(separator: ";").map { Self.name(of: $0) })
    }

    /// Adds the jar's cookies for the URL of the request. Those with a name that the command line gives are left out.
    ///
    /// Does nothing without a Cookie field, which isn't sent to another origin: the library sends the jar's cookies
    /// then.
    func add(to request: inout HTTPRequest) {
        guard request.headers.contains(named: .cookie),
            let cookies = try? jar.cookies(for: request.url)
        else { return }
        let kept = cookies.filter { !names.contains($0.name) }.map { cookie in
            Array((cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)").utf8)
        }
        let joined = RawText([value] + kept, separator: Self.separator)
        request.headers.setFirst(HTTPHeaders.Field(name: HTTPHeaders.Name.cookie.text, value: joined))
    }

    /// Returns the values of `-b` as one value.
    static func join(_ values: [RawText]) -> RawText {
        let ends = [UInt8(ascii: ";"), UInt8(ascii: " ")]
        let trimmed = values.map { value in value.bytes.reversed().drop { ends.contains($0) }.reversed() }
        return RawText(trimmed.map(Array.init), separator: separator)
    }

    private static func name(of pair: Substring) -> String {
        String(pair.drop { $0 == " " }.prefix { $0 != "=" })
    }
}

extension RawText {
    fileprivate init(_ parts: [[UInt8]], separator: [UInt8]) {
        self.init(Array(parts.joined(separator: separator)))
    }
}

extension HTTPHeaders {
    /// Replaces the first field of the name; those that repeat it stay.
    mutating func setFirst(_ field: Field) {
        let others = fields.filter { $0.isNamed(field.name) }.dropFirst()
        remove(named: field.name)
        add(field)
        for other in others { add(other) }
    }
}

extension HTTPHeaders.Field {
    /// Creates a field whose value is bytes (RFC 9110, section 5.5).
    init(name: String, value: RawText) {
        guard let text = value.text else {
            self = Array(name.utf8).withUnsafeBufferPointer { name in
                value.bytes.withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
            }
            return
        }
        self.init(name: name, value: text)
    }
}
