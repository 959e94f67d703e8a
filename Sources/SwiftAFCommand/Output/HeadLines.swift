import SwiftAF

/// The head lines that `-v` prints, without credentials.
enum HeadLines {
    /// A request as it is about to be sent, as far as it is known before: libcurl adds what it computes itself.
    static func request(_ request: HTTPRequest) -> [String] {
        var lines = ["\(request.method) \(encode(target(of: request.url)))"]
        if !request.headers.contains(HTTPHeaders.Name.host), let authority = authority(of: request) {
            lines.append("\(HTTPHeaders.Name.host): \(authority)")
        }
        return mark(lines + request.headers.fields.map(line), with: ">")
    }

    /// A response as it came.
    static func response(_ response: HTTPResponse) -> [String] {
        let reason = response.reason.isEmpty ? "" : " \(response.reason)"
        let status = "\(response.version) \(response.status)\(reason)"
        return mark([status] + response.headers.fields.map(line), with: "<")
    }

    private static func mark(_ lines: [String], with sign: String) -> [String] {
        lines.map { "\(sign) \($0.printable)" } + [sign]
    }

    private static func line(_ field: HTTPHeaders.Field) -> String {
        guard field.isNamed(HTTPHeaders.Name.location) else { return field.description }
        return "\(field.name): \(URLQuery.withoutUserInfo(field.value))"
    }

    /// Path and query, as the request line has them.
    private static func target(of url: String) -> String {
        let address = url.utf8.firstIndex(of: UInt8(ascii: "#")).map { url[..<$0] } ?? url[...]
        guard let slashes = address.utf8.indices.first(where: { address[$0...].utf8.starts(with: "//".utf8) }) else {
            return String(address)
        }
        let authority = address[slashes...].utf8.dropFirst(2)
        guard let end = authority.firstIndex(where: { "/?".utf8.contains($0) }) else { return "/" }
        let target = address[end...]
        return target.utf8.first == UInt8(ascii: "?") ? "/\(target)" : String(target)
    }

    /// What a URL can't hold, percent-encoded.
    private static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            let isPlain = (0x21...0x7E).contains(byte)
            encoded += isPlain ? String(UnicodeScalar(byte)) : "%" + Format.hexadecimal(byte)
        }
    }

    /// Host and port as the Host header has them: a scheme's own port is left out.
    private static func authority(of request: HTTPRequest) -> String? {
        guard let host = request.host else { return nil }
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        let usual = request.scheme == "https" ? 443 : 80
        guard let port = request.port, port != usual else { return name }
        return "\(name):\(port)"
    }
}
