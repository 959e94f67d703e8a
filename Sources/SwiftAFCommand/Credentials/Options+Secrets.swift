import SwiftAF

extension Options {
    /// Reads the values of `--proxy` and `-b` that are in files or variables. Call it once, before the options are
    /// used.
    mutating func readSecrets(
        _ environment: @autoclosure () -> [String: String], _ files: InputTexts
    ) throws(Failure) {
        if let source = proxySource {
            let url = try source.value(of: "--proxy", environment: environment(), files: files)
            guard !url.isEmpty else { throw Failure(UsageError("--proxy: \(source.place) is empty")) }
            proxies = ProxyConfiguration(all: url, bypass: proxies.bypass)
        }
        for source in cookieSources {
            let value = try source.value(of: "-b", environment: environment(), files: files)
            guard value.utf8.contains(UInt8(ascii: "=")) else {
                throw Failure(UsageError("-b: \(source.place) has no NAME=VALUE"))
            }
            cookies.append(RawText(value))
        }
    }
}
