import FoundationEssentials
import SwiftAF

/// Marks text on a terminal.
struct Style: Sendable {
    let isColoured: Bool

    init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// The style of a destination: coloured if it is a terminal that has colours, unless NO_COLOR is set.
    init(for sink: any ByteSink, _ environment: @autoclosure () -> [String: String]) {
        isColoured = sink.isTerminal && Self.hasColours(environment())
    }

    private static func hasColours(_ environment: [String: String]) -> Bool {
        environment["NO_COLOR", default: ""].isEmpty && !isDumb(environment)
    }

    /// Whether the terminal has neither colours nor a cursor that moves, or nothing says what it has.
    static func isDumb(_ environment: [String: String]) -> Bool {
        ["", "dumb"].contains(environment["TERM", default: ""])
    }

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "31") }
    func green(_ text: String) -> String { wrap(text, "32") }
    func yellow(_ text: String) -> String { wrap(text, "33") }
    func cyan(_ text: String) -> String { wrap(text, "36") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension Style {
    /// Returns the head of a response for a pipe or a file: the values of its fields are the bytes that were received.
    static func bytes(of response: HTTPResponse) -> Data {
        let (status, phrase) = statusLine(of: response)
        var bytes = Data((phrase.isEmpty ? status : "\(status) \(phrase)").utf8)
        for field in response.headers.fields {
            bytes += "\r\n\(field.name): ".utf8
            bytes += field.rawValue
        }
        return bytes + "\r\n\r\n".utf8
    }

    private static func statusLine(of response: HTTPResponse) -> (status: String, phrase: String) {
        ("HTTP/\(response.version.number) \(response.status)", response.reason)
    }

    /// Returns the head of a response, with an empty line behind it. Control characters are escaped.
    func text(of response: HTTPResponse) -> String {
        let (status, phrase) = Self.statusLine(of: response)
        let colour = response.status < 300 ? green : response.status < 400 ? yellow : red
        let fields = response.headers.fields.map { "\(cyan($0.name.printable)): \($0.value.printable)\r\n" }
        return colour(phrase.isEmpty ? status : "\(status) \(phrase.printable)") + "\r\n" + fields.joined() + "\r\n"
    }

    /// Returns the head of a request for a terminal. Control characters are escaped.
    func text(ofRequest head: String) -> String {
        let lines = head.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().map { index, line in
            guard index > 0 else { return bold(String(line).printable) }
            guard let colon = line.firstIndex(of: ":") else { return String(line).printable }
            return cyan(String(line[..<colon]).printable) + String(line[colon...]).printable
        }.joined(separator: "\r\n")
    }

    /// Returns JSON for a terminal, with one line per member and without unsafe characters; keys, strings, numbers and
    /// literals in colours.
    func pretty(_ json: JSONText) -> [UInt8] {
        let json = json.escapingUnsafe
        guard isColoured else { return json.pretty.bytes }
        return json.pretty { token, isKey in
            let text = String(decoding: token, as: UTF8.self)
            switch token.first {
            case UInt8(ascii: "\""): return Array((isKey ? cyan(text) : green(text)).utf8)
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return Array(yellow(text).utf8)
            default: return Array(token)
            }
        }
    }
}
