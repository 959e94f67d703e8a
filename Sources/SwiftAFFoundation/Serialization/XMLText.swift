import Foundation
import SwiftAF

/// Rewrites documents so that Foundation's parser can read them. On Linux it crashes the process on processing
/// instructions without data and on some declarations in a document type.
enum XMLText {
    /// Returns the document in UTF-8, without its document type, with a space in every `<?target?>`, and with an XML
    /// declaration of its own: without one, libxml2 would guess the encoding, or be told it by what follows.
    ///
    /// If the document can't be decoded, contains characters that XML forbids, has a document type with its own
    /// declarations, or has a comment, CDATA section or processing instruction without an end, U+0001 is returned. It
    /// is invalid in XML, so the parser reports an error.
    ///
    /// The result is safe to parse only up to the first error. After one, libxml2 goes on at a place of its choice, for
    /// example in the middle of what was taken for a comment here.
    ///
    /// - Throws: A `SessionError` if an element has too many attributes, or the result is too large.
    static func utf8(_ document: Data) throws -> Data {
        guard let text = text(of: document) else { return refused }
        // Before the scan, which takes longer than this.
        try checkSize(text)
        guard let result = try tame(text) else { return refused }
        try checkSize(result)
        return result
    }

    private static func checkSize(_ text: Data) throws(SessionError) {
        guard text.count <= XMLCost.maximumSize else {
            throw XMLCost.error("the document has more than \(XMLCost.maximumSize) bytes")
        }
    }

    /// Like ``utf8(_:)``, but U+0001 is also returned for a document that isn't well-formed or is beyond a limit of
    /// ``XMLCost``. The result is safe for a parser that goes on after errors.
    static func wellFormed(_ document: Data) -> Data {
        guard let text = try? utf8(document) else { return refused }
        return XMLCheck.isWellFormed(text) ? text : refused
    }

    /// The shortest document that the parser examines.
    private static let refused = Data(repeating: 1, count: 4)

    /// The document in UTF-8 without its declaration, which names the original encoding, and without a byte order mark
    /// before or, as libxml2 has it, behind it; nil if the document can't be decoded or has forbidden characters.
    private static func text(of document: Data) -> Data? {
        let text =
            switch charset(of: document) {
            case nil: nil as String?
            case .utf8?: String(validating: document, as: UTF8.self)
            case let charset?: charset.decode(document)
            }
        // libxml2 doesn't stop at a forbidden character in a comment, but ends the comment there.
        guard let text, !text.unicodeScalars.contains(where: isForbidden) else { return nil }
        let content = Data(text.utf8).trimmingMark
        return (declaration(of: content).map { content[$0.endIndex...] } ?? content).trimmingMark
    }

    /// Whether a character isn't a Char (XML 1.0, section 2.2).
    static func isForbidden(_ character: Unicode.Scalar) -> Bool {
        switch character.value {
        case 0x09, 0x0A, 0x0D: false
        case ..<0x20, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    /// Scans from markup to markup. Comments and CDATA sections are copied unchanged.
    private static func tame(_ document: Data) throws -> Data? {
        var result = Data("<?xml version='1.0' encoding='UTF-8'?>".utf8)
        result.reserveCapacity(document.count + 64)
        var rest = Array(document)[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            result.append(contentsOf: rest[..<start])
            rest = rest[start...]
            if rest.starts(with: documentType) {
                guard let end = endOfDocumentType(rest) else { return nil }
                // Keeps what is before and after it from becoming markup together.
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
            // Not looked for again from each later section: that would take quadratic time.
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

    /// Whether a tag, after its `<`, has more quoted values than an element may have attributes. Before its `>` it has
    /// no other `<`, not even in a value, or the parser stops there.
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

    /// The index after the first `mark`; nil without one.
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
    /// The bytes without a UTF-8 byte order mark.
    fileprivate var trimmingMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
