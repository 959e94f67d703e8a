/// A media type of RFC 9110 8.3, such as `text/html; charset=utf-8`.
public struct MediaType: Sendable, Hashable {
    /// `text`, in lower case.
    public let type: String
    /// `html`, in lower case.
    public let subtype: String
    /// The parameters in order, names in lower case, values without quotes.
    public let parameters: [Parameter]

    /// A parameter, `name=value`.
    public struct Parameter: Sendable, Hashable {
        /// The name of the parameter, in lower case.
        public let name: String
        /// The value without quotes and escapes, in its original case.
        public let value: String

        /// Creates a parameter; the name is lowercased.
        public init(name: String, value: String) {
            self.name = ASCII.lowercased(name)
            self.value = value
        }
    }

    /// Creates a media type; type and subtype are lowercased.
    public init(type: String, subtype: String, parameters: [Parameter] = []) {
        self.type = ASCII.lowercased(type)
        self.subtype = ASCII.lowercased(subtype)
        self.parameters = parameters
    }

    /// Parses the value of a Content-Type field; nil if it is invalid. White space around semicolons and empty
    /// parameters are accepted (RFC 9110 5.6.6).
    public init?(_ text: String) {
        var scanner = FieldScanner(text)
        scanner.skipBlanks()
        guard let type = scanner.token(), scanner.skip("/"), let subtype = scanner.token() else {
            return nil
        }
        var parameters: [Parameter] = []
        while true {
            scanner.skipBlanks()
            if scanner.isAtEnd { break }
            guard scanner.skip(";") else { return nil }
            scanner.skipBlanks()
            guard let name = scanner.token() else { continue }
            guard scanner.skip("="), let value = scanner.value() else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.init(type: type, subtype: subtype, parameters: parameters)
    }

    /// Type and subtype without parameters: `text/html`.
    public var essence: String { "\(type)/\(subtype)" }

    /// The value of the first parameter of this name.
    public func parameter(_ name: String) -> String? {
        parameters.first { ASCII.equalIgnoringCase($0.name, name) }?.value
    }

    /// The `charset` parameter in lower case.
    public var charset: String? { parameter("charset").map { ASCII.lowercased($0) } }

    /// The structured syntax suffix of RFC 6839: `json` for `application/problem+json`.
    public var suffix: String? {
        subtype.utf8.lastIndex(of: UInt8(ascii: "+")).map { String(subtype[$0...].dropFirst()) }
    }

    /// Whether the content is JSON: `application/json`, `text/json`, or any type with the suffix `json`.
    public var isJSON: Bool {
        suffix == "json" || (subtype == "json" && (type == "application" || type == "text"))
    }

    /// `application/json`
    public static let json = MediaType(type: "application", subtype: "json")
    /// `application/x-www-form-urlencoded`
    public static let form = MediaType(type: "application", subtype: "x-www-form-urlencoded")
    /// `application/octet-stream`: bytes of unknown type.
    public static let octetStream = MediaType(type: "application", subtype: "octet-stream")
    /// `text/plain`
    public static let plainText = MediaType(type: "text", subtype: "plain")
    /// `application/x-plist`
    package static let propertyList = MediaType(type: "application", subtype: "x-plist")
}

extension MediaType: CustomStringConvertible {
    /// The type as it is written in a header field; values that aren't tokens are quoted.
    public var description: String {
        parameters.reduce(into: essence) { text, parameter in
            text += "; \(parameter.name)="
            text += CoreField.isToken(parameter.value) ? parameter.value : Self.quoted(parameter.value)
        }
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
}

extension MediaType {
    /// Creates the media type of a file name extension, in any case; nil if it is unknown.
    ///
    /// - Parameter pathExtension: The extension without its dot, such as `jpeg`.
    public init?(pathExtension: String) {
        guard let text = Self.coreType(ofPathExtension: pathExtension) else { return nil }
        self.init(text)
    }

    /// Returns the media type of a file by the extension of its name; ``octetStream`` if that is unknown.
    ///
    /// - Parameter name: A file name or a path.
    static func ofFile(named name: String) -> MediaType {
        let pathExtension = name.utf8.lastIndex(of: UInt8(ascii: ".")).map {
            String(name[name.utf8.index(after: $0)...])
        }
        return pathExtension.flatMap(MediaType.init(pathExtension:)) ?? .octetStream
    }
}
