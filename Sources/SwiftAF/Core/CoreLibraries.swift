internal import CAFCore

/// The libraries that the core uses.
package enum CoreLibraries {
    /// Initialises libcurl and OpenSSL, which otherwise the first session does. Any thread may call it.
    package static func prepare() {
        afc_prepare()
    }
}
