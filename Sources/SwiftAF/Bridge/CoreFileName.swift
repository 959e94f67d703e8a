internal import CAFCore
import FoundationEssentials

extension HTTPResponse {
    /// The name under which the body may be kept: what Content-Disposition suggests, else the last component of the
    /// URL's path, else `download` with an extension by Content-Type.
    ///
    /// Whatever the server says, it is one component of a path, of at most 223 bytes, that is safe in any folder: it
    /// has no slash, backslash or control character, does not begin or end with a dot or space, and is no name of a
    /// device. A file of that name may already exist.
    public var suggestedFileName: String {
        let fields = HTTPHeaders(
            headers.fields.filter {
                $0.isNamed(HTTPHeaders.Name.contentDisposition) || $0.isNamed(HTTPHeaders.Name.contentType)
            })
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CoreTexts.size(of: fields)) { memory in
            withUnsafeTemporaryAllocation(of: af_header.self, capacity: fields.fields.count) { core in
                var texts = CoreTexts(memory)
                var head = af_head()
                head.header_count = texts.put(fields, into: core)
                head.headers = UnsafePointer(core.baseAddress)
                return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AF_FILE_NAME_MAX) + 1) { name in
                    guard let start = name.baseAddress else { return "download" }
                    af_suggest_file_name(start, &head, url)
                    return String(cString: start)
                }
            }
        }
    }
}
