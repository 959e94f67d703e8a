internal import CAFCore

extension LibraryVersions {
    /// The version of libafcore alone, which costs less than all that ``current`` reports.
    package static var ofCore: String { String(cString: afc_version()) }

    /// The versions that the linked libraries report.
    static var fromCore: LibraryVersions {
        var count = 0
        let names = UnsafeBufferPointer(start: afc_curl_features(&count), count: count)
        return LibraryVersions(
            core: ofCore, curl: String(cString: afc_curl_version()),
            tls: String(cString: afc_tls_version()), features: names.compactMap { $0.map { String(cString: $0) } })
    }
}
