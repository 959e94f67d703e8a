import Foundation
import SwiftAF

/// Rewrites documents so that Foundation's parser can read them. On Linux, that parser crashes the process on
/// processing instructions without data and on some declarations in a document type.
enum XMLText {
    /// Returns the document in UTF-8, without its document type, with a space in every `<?target?>`, and with a new XML
    /// declaration, without which libxml2 would guess the encoding.
    ///
    /// If the document can't be decoded, contains characters that XML forbids, has a document type with its own
    /// declarations, or has a comment, CDATA section or processing instruction without an end, U+0001 is returned. It
    /// is invalid in XML, so the parser reports an error.
    ///
    /// The result is safe to parse only up to the first error. After one, libxml2 continues at an unpredictable place,
    /// for example in the middle of a comment.
    ///
    /// - Throws: A `SessionError` if an element has too many attributes, or the result is too large.
    static func utf8(_ document: Data) throws -> Data {
        guard let text = text(of: document) else { return refused }
        // Checked before the scan, which takes longer.
        try checkSize(text)
        guard let result = try sanitized(text) else { return refused }
        try checkSize(result)
        return result
    }

    private static func checkSize(_ text: Data) throws(SessionError) {
        guard text.count <= XMLCost.maximumSize else {
            throw XMLCost.error("the document has more than \(XMLCost.maximumSize) bytes")
        }
    }

    /// Like ``utf8(_:)``, but U+0001 is also returned for a document that isn't well-formed or is beyond a limit of
    /// ``XMLCost``. The result is safe for a parser that continues after errors.
    static func wellFormed(_ document: Data) -> Data {
        guard let text = try? utf8(document) else { return refused }
        return XMLCheck.isWellFormed(text) ? text : refused
    }

    /// The shortest document that the parser examines.
    private static let refused = Data(repeating: 1, count: 4)

    /// Returns the document in UTF-8, without its declaration, which names the original encoding. A byte order mark is
    /// removed before it and, as libxml2 does, after it. Nil if the document can't be decoded or has forbidden
    /// characters.
    private static func text(of document: Data) -> Data? {
        let text =
            switch charset(of: document) {
            case nil: nil as String?
            case .utf8?: String(validating: document, as: UTF8.self)
            case let charset?: charset.decode(document)
            }
        // Refused, because libxml2 would end a comment at a forbidden character.
        guard let text, !text.unicodeScalars.contains(where: isForbidden) else { return nil }
        let content = Data(text.utf8).trimmingMark
        return (declaration(of: content).map { content[$0.endIndex...] } ?? content).trimmingMark
    }

    /// Returns whether a character isn't a Char (XML 1.0, section 2.2).
    static func isForbidden(_ character: Unicode.Scalar) -> Bool {
        switch character.value {
        case 0x09, 0x0A, 0x0D: false
        case ..<0x20, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    /// Scans from markup to markup. Comments and CDATA sections are copied unchanged.
    private static func sanitized(_ document: Data) throws -> Data? {
        var result = Data("<?xml version='1.0' encoding='UTF-8'?>".utf8)
        result.reserveCapacity(document.count + 64)
        var rest = Array(document)[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            result.append(contentsOf: rest[..<start])
            rest = rest[start...]
            if rest.starts(with: documentType) {
                guard let end = endOfDocumentType(rest) else { return nil }
                // Separates the parts before and after the removed one, which might form markup together.
                result.append(UInt8(ascii: " "))
                rest = rest[end...]
                continue
            }
            let section = sections.first { rest.starts(with: $0.opening) }
            if section == nil, hasTooManyAttributes(rest.dropFirst()) {
                throw XMLCost.error("an element has more than \(XMLCost.maximumAttributeCount) attributes")
            }
            // The marks don't overlap: `<!-->` isn't a whole comment.
            let content = rest.dropFirst(section?.opening.count ?? 1)
            // Remembered, because searching again from each later section would take quadratic time.
            guard let end = section.map({ Self.end(of: $0.closing, in: content) }) ?? content.startIndex else {
                return nil
            }
            result.append(contentsOf: rest[..<end])
            if section?.closing == instructionEnd, !content[..<end].contains(where: { $0 <= 0x20 }) {
                result.insert(UInt8(ascii: " "), at: result.endIndex - instructionEnd.count)
            }
            rest = rest[end...]
        }
        result.append(contentsOf: rest)
        return result
    }

    /// Returns whether a tag, after its `<`, has more quoted values than an element may have attributes. The search
    /// ends at another `<`, where the parser stops, even in a value.
    private static func hasTooManyAttributes(_ tag: ArraySlice<UInt8>) -> Bool {
        var quote: UInt8?
        var count = 0
        for byte in tag {
            switch byte {
            case quote: quote = nil
            case UInt8(ascii: "<"): return false
            case _ where quote != nil: break
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                quote = byte
                count += 1
                if count > XMLCost.maximumAttributeCount { return true }
            case UInt8(ascii: ">"): return false
            default: break
            }
        }
        return false
    }

    private static let documentType = Array("<!DOCTYPE".utf8)
    private static let instructionEnd = Array("?>".utf8)
    private static let sections: [(opening: [UInt8], closing: [UInt8])] = [
        (Array("<!--".utf8), Array("-->".utf8)), (Array("<![CDATA[".utf8), Array("]]>".utf8)),
        (Array("<?".utf8), instructionEnd),
    ]

    /// Returns the index after the first `mark`; nil if there is none.
    private static func end(of mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var place = bytes.startIndex
        while let next = bytes[place...].firstIndex(of: mark[0]) {
            if bytes[next...].starts(with: mark) { return next + mark.count }
            place = next + 1
        }
        return nil
    }

    /// Returns the index after a document type without declarations; nil if it has declarations or isn't terminated.
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

    /// Returns the charset that the first bytes indicate (XML 1.0, appendix F); nil if unknown.
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

    /// Returns the bytes from `<?xml` to `?>`, if the document begins with them.
    private static func declaration(of document: Data) -> Data? {
        guard document.starts(with: "<?xml".utf8), let end = document.range(of: Data("?>".utf8)) else { return nil }
        let isLonger = document.dropFirst(5).first.map { $0 > 0x20 } ?? true
        return isLonger ? nil : document[..<end.upperBound]
    }

    /// Returns the quoted value of `encoding`, in lower case.
    private static func label(in declaration: Data) -> String? {
        guard let name = declaration.range(of: Data("encoding".utf8)) else { return nil }
        let quotes = [UInt8(ascii: "\""), UInt8(ascii: "'")]
        let value = declaration[name.upperBound...].drop { !quotes.contains($0) }.dropFirst()
        return String(decoding: value.prefix { !quotes.contains($0) }, as: UTF8.self).lowercased()
    }
}

extension Data {
    /// The bytes without a UTF-8 byte order mark.
    fileprivate var trimmingMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
