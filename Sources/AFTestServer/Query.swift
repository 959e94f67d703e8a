public import FoundationEssentials

extension TestServer {
    /// The parameters of a request's query, in order: `request.query["page"]`.
    public struct Query: Sendable, Hashable, RandomAccessCollection {
        /// A name and a value, without percent-encoding.
        public struct Parameter: Sendable, Hashable {
            /// The name.
            public let name: String
            /// The value; empty for a parameter without "=".
            public let value: String
        }

        private let parameters: [Parameter]

        /// Compares bytes: a character may consist of a separator and a combining mark.
        init(_ text: Substring.UTF8View) {
            parameters = text.split(separator: UInt8(ascii: "&")).map { item in
                let name = item.prefix { $0 != UInt8(ascii: "=") }
                return Parameter(name: decoded(name), value: decoded(item.dropFirst(name.count + 1)))
            }
        }

        /// The position of the first parameter.
        public var startIndex: Int { parameters.startIndex }
        /// The position after the last parameter.
        public var endIndex: Int { parameters.endIndex }

        /// The parameter at a position.
        public subscript(position: Int) -> Parameter {
            parameters[position]
        }

        /// The value of the first parameter with a name; nil without one.
        public subscript(name: String) -> String? {
            parameters.first { $0.name == name }?.value
        }

        /// The values of all parameters with a name, in order.
        public func values(named name: String) -> [String] {
            parameters.filter { $0.name == name }.map(\.value)
        }
    }
}

extension TestServer.Request {
    /// The parameters after the "?" of the target. Percent-encoding is decoded, and "+" is a space, as in forms.
    public var query: TestServer.Query {
        TestServer.Query(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
    }

    /// Decodes the body as JSON.
    ///
    /// ```swift
    /// let user = try server.requests[0].json(as: NewUser.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder.
    public func json<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: body)
    }
}

/// Without percent-encoding. What isn't a byte in hexadecimal stays as it is.
private func decoded(_ text: Substring.UTF8View) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
        let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        if byte == UInt8(ascii: "%"), digits.count == 2 {
            bytes.append(UInt8(digits[0] * 16 + digits[1]))
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
