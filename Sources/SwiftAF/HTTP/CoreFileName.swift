internal import CAFCore
import FoundationEssentials

extension HTTPResponse {
    /// The value of ``suggestedFileName``.
    var coreFileName: String {
        let fields = HTTPHeaders(
            headers.fields.filter {
                $0.isNamed(.contentDisposition) || $0.isNamed(.contentType)
            })
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CStringArena.size(of: fields)) { memory in
            withUnsafeTemporaryAllocation(of: afc_header.self, capacity: fields.fields.count) { core in
                var texts = CStringArena(memory)
                var head = afc_head()
                head.header_count = texts.put(fields, into: core)
                head.headers = UnsafePointer(core.baseAddress)
                return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AFC_FILE_NAME_MAX) + 1) { name in
                    guard let start = name.baseAddress else { return "download" }
                    afc_suggest_file_name(start, &head, url)
                    return String(cString: start)
                }
            }
        }
    }
}

extension MediaType {
    /// Returns the text of the media type for a file name extension; nil if it is unknown.
    static func coreType(ofPathExtension pathExtension: String) -> String? {
        pathExtension.withCoreSlice(afc_media_type_of_extension).map { String(cString: $0) }
    }
}
