import Foundation

/// Makes of any document one that Foundation's parser survives: it ends the process at some texts that are not UTF-8,
/// at processing instructions without data and at some declarations of a document type.
enum XMLText {
    /// The document in UTF-8, without its document type and its XML declaration, which named another encoding, and
    /// with a blank in every `<?target?>`.
    ///
    /// What can't be decoded, and a document type with declarations of its own, is given as U+0001, which no document
    /// may contain: so the parser says that something is wrong.
    static func utf8(_ document: Data) -> Data {
        guard let encoding = encoding(of: document) else { return refused }
        if encoding == .utf8 { return tame(Data(utf8: document.trimmingMark)) }
        guard let text = String(data: document, encoding: encoding) else { return refused }
        return tame(Data(text.utf8).trimmingMark)
    }

    /// As long as the parser wants a document to be before it looks at it.
    private static let refused = Data(repeating: 1, count: 4)

    private static func tame(_ document: Data) -> Data {
        let content = declaration(of: document).map { document[$0.endIndex...] } ?? document
        let isPlain = content.range(of: Data("<?".utf8)) == nil && content.range(of: Data(documentType)) == nil
        return isPlain ? content : rewrite(Array(content))
    }

    /// Goes from markup to markup. What looks like one in a comment or a CDATA section is left alone.
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
            let end = closing.flatMap { Self.end(of: $0, in: rest) } ?? start + 1
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

    /// The place behind the first `mark`, nil if there is none.
    private static func end(of mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var place = bytes.startIndex
        while let next = bytes[place...].firstIndex(of: mark[0]) {
            if bytes[next...].starts(with: mark) { return next + mark.count }
            place = next + 1
        }
        return nil
    }

    /// The place behind a document type that only names things; nil if it declares some, or does not end.
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

    /// The encoding by the document's first bytes, as XML 1.0, appendix F, tells it; nil for one that is not known.
    private static func encoding(of document: Data) -> String.Encoding? {
        switch (document.first, document.dropFirst().first) {
        case (0xFE, 0xFF), (0xFF, 0xFE): return .utf16
        case (0x3C, 0x00): return .utf16LittleEndian
        case (0x00, 0x3C): return .utf16BigEndian
        default: break
        }
        guard let declaration = declaration(of: document.trimmingMark), let label = label(in: declaration) else {
            return .utf8
        }
        return encodings[label]
    }

    private static let encodings: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .utf8, "ascii": .utf8,
        "iso-8859-1": .isoLatin1, "latin1": .isoLatin1, "iso-8859-2": .isoLatin2,
        "windows-1250": .windowsCP1250, "windows-1251": .windowsCP1251, "windows-1252": .windowsCP1252,
        "windows-1253": .windowsCP1253, "windows-1254": .windowsCP1254,
        "shift_jis": .shiftJIS, "euc-jp": .japaneseEUC, "iso-2022-jp": .iso2022JP,
    ]

    /// The bytes from `<?xml` to `?>`, if the document begins so.
    private static func declaration(of document: Data) -> Data? {
        guard document.starts(with: "<?xml".utf8), let end = document.range(of: Data("?>".utf8)) else { return nil }
        let isLonger = document.dropFirst(5).first.map { $0 > 0x20 } ?? true
        return isLonger ? nil : document[..<end.upperBound]
    }

    /// What stands in quotes behind `encoding`, in lower case.
    private static func label(in declaration: Data) -> String? {
        guard let name = declaration.range(of: Data("encoding".utf8)) else { return nil }
        let quotes = [UInt8(ascii: "\""), UInt8(ascii: "'")]
        let value = declaration[name.upperBound...].drop { !quotes.contains($0) }.dropFirst()
        return String(decoding: value.prefix { !quotes.contains($0) }, as: UTF8.self).lowercased()
    }
}

extension Data {
    /// `bytes` if they are UTF-8; else the same with U+0001 for what is wrong, and for every U+FFFD that was there.
    fileprivate init(utf8 bytes: Data) {
        guard String(validating: bytes, as: UTF8.self) == nil else {
            self = bytes
            return
        }
        let repaired = String(decoding: bytes, as: UTF8.self)
        let marked = repaired.unicodeScalars.lazy.map { $0 == "\u{FFFD}" ? "\u{1}" : $0 }
        self.init(String(String.UnicodeScalarView(marked)).utf8)
    }

    /// The bytes without UTF-8's byte order mark.
    fileprivate var trimmingMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self
    }
}
