public import FoundationEssentials

/// A storage of cookies, for one or more sessions.
///
/// ```swift
/// var configuration = SessionConfiguration.default
/// configuration.cookieStorage = try CookieStorage(path: "/home/me/.local/state/shop/cookies.txt")
/// ```
///
/// Thread-safe. `init(path:)` and ``save(to:)-(String?)`` block until the disk has responded. So does the release of
/// the last reference, if there is a file and cookies have changed; it may happen on a session's network thread. To
/// avoid that, keep a reference and call ``save(to:)-(String?)`` on another thread.
public final class CookieStorage: Sendable {
    let core: CoreCookieJar

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - path: The file to load, if it exists, and to save when the storage is released, or the process ends by
    ///     returning or by `exit()`; see ``save(to:)-(String?)``. A process that is ended by a signal saves nothing.
    ///     Nil for none.
    ///   - maximumCount: The maximum number of cookies; beyond it, expired ones are evicted, then the least recently
    ///     used. At least 1.
    ///   - maximumCountPerDomain: The same for each site, such as `example.co.uk` with all its subdomains; those
    ///     without Secure are evicted before others. A cookie without Secure is refused if all others of its full site
    ///     have it. At least 1.
    /// - Throws: ``SessionError/Code/file`` for an unreadable file, and for one that doesn't exist and can't be created
    ///   in its folder. Invalid lines are skipped. Saving replaces the file without reading it: if several processes
    ///   use a file at the same time, the last one that saves overwrites the others' cookies.
    public init(path: String? = nil, maximumCount: Int = 3000, maximumCountPerDomain: Int = 180) throws(SessionError) {
        core = try CoreCookieJar(path, maximumCount: maximumCount, maximumCountPerDomain: maximumCountPerDomain)
    }

    /// Creates a storage with the file of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public convenience init(
        path: URL, maximumCount: Int = 3000, maximumCountPerDomain: Int = 180
    ) throws(SessionError) {
        try self.init(
            path: path.filePath(of: "cookie storage"), maximumCount: maximumCount,
            maximumCountPerDomain: maximumCountPerDomain)
    }

    /// Returns all cookies that haven't expired.
    ///
    /// - Throws: ``SessionError/Code/outOfMemory`` only.
    public func cookies() throws(SessionError) -> [Cookie] {
        try core.cookies()
    }

    /// Returns the cookies that would be sent to a URL, in the order of the Cookie field.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` unless it is an http or https URL with a host in ASCII.
    public func cookies(for url: some URLConvertible) throws(SessionError) -> [Cookie] {
        try core.cookies(for: url.urlText)
    }

    /// Stores a cookie; replaces the one with the same name, domain and path. An expired cookie removes it.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid cookie or domain.
    public func setCookie(_ cookie: Cookie) throws(SessionError) {
        try core.set(cookie)
    }

    /// Stores the cookie of a `Set-Cookie` value from a URL's response, as a session does.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` with the reason if the cookie is refused.
    public func receive(_ setCookie: String, from url: some URLConvertible) throws(SessionError) {
        try core.receive(setCookie, from: url.urlText)
    }

    /// Removes the cookie with the same name, domain and path.
    public func deleteCookie(_ cookie: Cookie) {
        core.delete(cookie.name, cookie.domain, cookie.path)
    }

    /// Removes the cookies of exactly this domain, not those of its subdomains or parent domains. Removes nothing for
    /// an empty domain.
    ///
    /// ```swift
    /// if let host = url.host() { storage.deleteCookies(forDomain: host) }
    /// ```
    ///
    /// - Parameter domain: A ``Cookie/domain``, in any case.
    /// - Returns: The number of removed cookies.
    @discardableResult
    public func deleteCookies(forDomain domain: String) -> Int {
        core.delete(nil, ASCII.lowercased(domain), nil)
    }

    /// Removes all cookies.
    ///
    /// - Returns: The number of removed cookies.
    @discardableResult
    public func deleteAllCookies() -> Int {
        core.delete(nil, nil, nil)
    }

    /// Saves the cookies that have an ``Cookie/expiresDate``, in Netscape's format. The new file has mode 0600 and
    /// replaces the old one after it was synced to disk. Blocks.
    ///
    /// - Parameter path: Nil uses the storage's file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` without a path.
    public func save(to path: String? = nil) throws(SessionError) {
        try core.save(to: path)
    }

    /// Saves the cookies to the file of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public func save(to path: URL) throws(SessionError) {
        try save(to: path.filePath(of: "cookie storage"))
    }

    /// Returns the text that ``save(to:)-(String?)`` writes, optionally with the session cookies, which have no
    /// ``Cookie/expiresDate``.
    package func exported(includingSession: Bool) throws(SessionError) -> Data {
        try core.exported(includingSession: includingSession)
    }
}

extension CookieStorage: Hashable {
    public static func == (left: CookieStorage, right: CookieStorage) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
