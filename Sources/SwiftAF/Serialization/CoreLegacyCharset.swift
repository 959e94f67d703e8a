import FoundationEssentials
import Glibc

/// A charset from before Unicode that the C library converts with iconv(3).
///
/// Only the charsets of the WHATWG encoding standard (section 4.2) that glibc has. iconv knows hundreds more, but the
/// server chooses the label, and rarely used converters have had defects that a hostile body can reach.
package struct LegacyCharset: Sendable {
    /// The name of the charset for iconv.
    private let name: String

    /// - Parameter label: The label in lower case. The result is nil if there is no such charset.
    init?(label: String) {
        guard let name = Self.names[label] else { return nil }
        self.name = name
    }

    /// Decodes the bytes; nil if they aren't valid, or if this system lacks the converter.
    func decode(_ bytes: Data) -> String? {
        guard let converter = iconv_open("UTF-8", name), Int(bitPattern: converter) != -1 else { return nil }
        defer { iconv_close(converter) }
        var input = [UInt8](bytes)
        var text: [UInt8] = []
        // One byte usually becomes at most three. If the buffer is too small, the loop below continues.
        var output = [UInt8](repeating: 0, count: min(max(64, bytes.count * 3), 64 * 1024))
        let isValid = input.withUnsafeMutableBytes { input in
            var next = input.baseAddress?.assumingMemoryBound(to: CChar.self)
            var left = input.count
            var isFlushed = false
            while !isFlushed {
                // A call without input writes the bytes that a stateful converter still holds.
                isFlushed = left == 0
                let (count, error) = output.withUnsafeMutableBytes { output in
                    var end = output.baseAddress?.assumingMemoryBound(to: CChar.self)
                    var room = output.count
                    let result =
                        isFlushed
                        ? iconv(converter, nil, nil, &end, &room) : iconv(converter, &next, &left, &end, &room)
                    return (output.count - room, result == -1 ? errno : 0)
                }
                text += output.prefix(count)
                // E2BIG means that the buffer is full; EILSEQ and EINVAL, that the input is invalid or cut off.
                guard error == 0 || error == E2BIG else { return false }
                if error == E2BIG { isFlushed = false }
            }
            return true
        }
        return isValid ? String(validating: text, as: UTF8.self) : nil
    }

    /// The labels of each charset. White space separates them.
    private static let labels = [
        "IBM866": "ibm866 866 cp866 csibm866",
        "ISO-8859-2": "iso-8859-2 csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
        "ISO-8859-3": "iso-8859-3 csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
        "ISO-8859-4": "iso-8859-4 csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
        "ISO-8859-5": "iso-8859-5 csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
        "ISO-8859-6": "iso-8859-6 arabic asmo-708 csisolatinarabic ecma-114 iso-ir-127 iso8859-6 iso88596 iso_8859-6",
        "ISO-8859-7":
            "iso-8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7",
        "ISO-8859-8":
            "iso-8859-8 csisolatinhebrew hebrew iso-ir-138 iso8859-8 iso88598 iso_8859-8 visual iso-8859-8-i logical",
        "ISO-8859-10": "iso-8859-10 csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6",
        "ISO-8859-13": "iso-8859-13 iso8859-13 iso885913",
        "ISO-8859-14": "iso-8859-14 iso8859-14 iso885914",
        "ISO-8859-15": "iso-8859-15 csisolatin9 iso8859-15 iso885915 iso_8859-15 l9 latin-9",
        "ISO-8859-16": "iso-8859-16",
        "KOI8-R": "koi8-r cskoi8r koi koi8 koi8_r",
        "KOI8-U": "koi8-u koi8-ru",
        "MACINTOSH": "macintosh csmacintosh mac x-mac-roman",
        "CP874": "windows-874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
        "CP1250": "windows-1250 cp1250 x-cp1250",
        "CP1251": "windows-1251 cp1251 x-cp1251",
        "CP1253": "windows-1253 cp1253 x-cp1253",
        // ISO-8859-9 is a subset of it.
        "CP1254":
            "windows-1254 cp1254 x-cp1254 iso-8859-9 csisolatin5 iso-ir-148 iso8859-9 iso88599 iso_8859-9 l5 latin5",
        "CP1255": "windows-1255 cp1255 x-cp1255",
        "CP1256": "windows-1256 cp1256 x-cp1256",
        "CP1257": "windows-1257 cp1257 x-cp1257",
        "CP1258": "windows-1258 cp1258 x-cp1258",
        // GBK and GB 2312 are subsets of it.
        "GB18030": "gb18030 gbk chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk",
        "BIG5-HKSCS": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
        "EUC-JP": "euc-jp cseucpkdfmtjapanese x-euc-jp",
        "ISO-2022-JP": "iso-2022-jp csiso2022jp",
        // Shift_JIS with the extensions of Windows.
        "CP932": "shift_jis csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis",
        // EUC-KR with the extensions of Windows.
        "CP949":
            "euc-kr cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    ]

    /// The name of each label.
    static let names = Dictionary(
        uniqueKeysWithValues: labels.flatMap { name, labels in labels.split(separator: " ").map { (String($0), name) } }
    )
}
