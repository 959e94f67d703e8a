import Foundation
import SwiftAF

/// Rewrites documents so that Foundation's parser can read them. It crashes the process on some text that isn't UTF-8,
/// on processing instructions without data, and on some declarations in a document type.
enum XMLText {
    /// Returns the document in UTF-8, without its document type and its XML declaration (which names the original
    /// encoding), and with a space in every `<?target?>`.
    ///
    /// If the document can't be decoded, has a document type with its own declarations, or has a comment, CDATA section
    /// or processing instruction without an end, U+0001 is returned. It is invalid in XML, so the parser reports an
    /// error.
    static func utf8(_ document: Data) -> Data {
        guard let charset = charset(of: document) else { return refused }
        if case .utf8 = charset { return tame(Data(utf8: document.trimmingMark)) }
        guard let text = charset.decode(document) else { return refused }
        return tame(Data(text.utf8).trimmingMark)
    }

    /// The shortest document that the parser examines.
    private static let refused = Data(repeating: 1, count: 4)

    private static func tame(_ document: Data) -> Data {
        let content = declaration(of: document).map { document[$0.endIndex...] } ?? document
        let isPlain = content.range(of: Data("<?".utf8)) == nil && content.range(of: Data(documentType)) == nil
        return isPlain ? content : rewrite(Array(content))
    }

    /// Scans from markup to markup. Comments and CDATA sections are copied unchanged.
    private static func rewrite(_ document: [UInt8]) -> Data {
        var result = Data(capacity: document.count + 64)
        var rest = document[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            result.append(contentsOf: rest[..<start])
            rest = rest[start...]
            if rest.starts(with: documentType) {
                guard let end = endOfDocumentType(rest) else { return refused }
                rest = rest[end...]
                continue
            }
            let closing = sections.first { rest.starts(with: $0.opening) }?.closing
            // Not looked for again from each later section: that would take quadratic time.
            guard let end = closing.map({ Self.end(of: $0, in: rest) }) ?? start + 1 else { return refused }
            if closing == instructionEnd, end - start >= 4, !rest[..<end].contains(where: { $0 <= 0x20 }) {
                result.append(contentsOf: rest[..<(end - 2)])
                result.append(contentsOf: " ?>".utf8)
            } else {
                result.append(contentsOf: rest[..<end])
            }
            rest = rest[end...]
        }
        result.append(contentsOf: rest)
        return result
    }

    private static let documentType = Array("<!DOCTYPE".utf8)
    private static let instructionEnd = Array("?>".utf8)
    private static let sections: [(opening: [UInt8], closing: [UInt8])] = [
        (Array("<!--".utf8), Array("-->".utf8)), (Array("<![CDATA[".utf8), Array("]]>".utf8)),
        (Array("<?".utf8), instructionEnd),
    ]

    /// The index after the first `mark`; nil if there is none.
    private static func end(of mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var place = bytes.startIndex
        while let next = bytes[place...].firstIndex(of: mark[0]) {
            if bytes[next...].starts(with: mark) { return next + mark.count }
            place = next + 1
        }
        return nil
    }

    /// The index after a document type without declarations; nil if it has declarations or isn't terminated.
    private static func endOfDocumentType(_ bytes: ArraySlice<UInt8>) -> Int? {
        var quote: UInt8?
        for (place, byte) in zip(bytes.indices, bytes) {
            switch byte {
            case quote: quote = nil
            case _ where quote != nil: break
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
            case UInt8(ascii: "["): return nil
            case UInt8(ascii: ">"): return place + 1
            default: break
            }
        }
        return nil
    }

    /// The charset that the first bytes indicate (XML 1.0, appendix F); nil if unknown.
    private static func charset(of document: Data) -> Charset? {
        switch (document.first, document.dropFirst().first) {
        case (0xFE, 0xFF), (0xFF, 0xFE): return .utf16
        case (0x3C, 0x00): return .utf16LittleEndian
        case (0x00, 0x3C): return .utf16BigEndian
        default: break
        }
        guard let declaration = declaration(of: document.trimmingMark), let label = label(in: declaration) else {
            return .utf8
        }
        return Charset(label: label)
    }

    /// The bytes from `<?xml` to `?>`, if the document begins with them.
    private static func declaration(of document: Data) -> Data? {
        guard document.starts(with: "<?xml".utf8), let end = document.range(of: Data("?>".utf8)) else { return nil }
        let isLonger = document.dropFirst(5).first.map { $0 > 0x20 } ?? true
        return isLonger ? nil : document[..<end.upperBound]
    }

    /// The quoted value of `encoding`, in lower case.
    private static func label(in declaration: Data) -> String? {
        guard let name = declaration.range(of: Data("encoding".utf8)) else { return nil }
        let quotes = [UInt8(ascii: "\""), UInt8(ascii: "'")]
        let value = declaration[name.upperBound...].drop { !quotes.contains($0) }.dropFirst()
        return String(decoding: value.prefix { !quotes.contains($0) }, as: UTF8.self).lowercased()
    }
}

extension Data {
    /// Returns `bytes` if they are valid UTF-8. Otherwise, invalid sequences are replaced by U+0001, and so is every
    /// U+FFFD.
    fileprivate init(utf8 bytes: Data) {
        guard String(validating: bytes, as: UTF8.self) == nil else {
            self = bytes
            return
        }
        let repaired = String(decoding: bytes, as: UTF8.self)
        let marked = repaired.unicodeScalars.lazy.map { $0 == "\u{FFFD}" ? "\u{1}" : $0 }
        self.init(String(String.UnicodeScalarView(marked)).utf8)
    }

    /// The bytes without a UTF-8 byte order mark.
    fileprivate var trimmingMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
