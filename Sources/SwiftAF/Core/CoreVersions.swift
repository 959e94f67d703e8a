internal import CAFCore

extension LibraryVersions {
    /// The versions that the linked libraries report.
    static var fromCore: LibraryVersions {
        var count = 0
        let names = UnsafeBufferPointer(start: afc_curl_features(&count), count: count)
        return LibraryVersions(
            core: String(cString: afc_version()), curl: String(cString: afc_curl_version()),
            tls: String(cString: afc_tls_version()), features: names.compactMap { $0.map { String(cString: $0) } })
    }
}
