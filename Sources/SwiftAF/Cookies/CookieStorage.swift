import FoundationEssentials

/// A jar of cookies, for one session or several.
///
/// ```swift
/// var configuration = SessionConfiguration.default
/// configuration.cookieStorage = try CookieStorage(path: "/home/me/.jar")
/// ```
///
/// Its lock is its own: everything may be called from any thread, and waits for others only for moments.
public final class CookieStorage: Sendable {
    let core: CoreCookieJar

    /// Makes a storage.
    ///
    /// - Parameters:
    ///   - path: A file to begin with, if it is there, and to write when the storage goes; see ``save(to:)``. Nil for
    ///     none.
    ///   - maximumCount: Beyond it, expired cookies go, then those that were not used for longest; of a file with more,
    ///     those further up.
    ///   - maximumCountPerDomain: The same for each site: `example.co.uk` with all names below it.
    /// - Throws: ``SessionError/Code/file`` for a file that can't be read. Lines of it that are no cookies are left
    ///   out.
    public init(path: String? = nil, maximumCount: Int = 3000, maximumCountPerDomain: Int = 180) throws(SessionError) {
        core = try CoreCookieJar(path, maximumCount: maximumCount, maximumCountPerDomain: maximumCountPerDomain)
    }

    /// All cookies that have not expired.
    ///
    /// - Throws: ``SessionError/Code/outOfMemory`` only.
    public func cookies() throws(SessionError) -> [HTTPCookie] {
        try core.cookies()
    }

    /// The cookies that would be sent to a URL, in their order.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for what is no http or https URL with a host in ASCII.
    public func cookies(for url: String) throws(SessionError) -> [HTTPCookie] {
        try core.cookies(for: url)
    }

    /// Puts a cookie in, in place of the one with its name, domain and path. One that has expired only takes that one
    /// out.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for what can't be a cookie, or not of its domain.
    public func setCookie(_ cookie: HTTPCookie) throws(SessionError) {
        try core.set(cookie)
    }

    /// Does what a session does with the value of a `Set-Cookie` that a URL answered with.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a cookie that is refused, and why.
    public func receive(_ setCookie: String, from url: String) throws(SessionError) {
        try core.receive(setCookie, from: url)
    }

    /// Takes out the cookies of this name, domain and path; each that is nil is any.
    ///
    /// - Returns: Their number.
    @discardableResult
    public func deleteCookies(name: String? = nil, domain: String? = nil, path: String? = nil) -> Int {
        core.delete(name, domain, path)
    }

    /// Takes out the cookie of this name, domain and path.
    public func deleteCookie(_ cookie: HTTPCookie) {
        deleteCookies(name: cookie.name, domain: cookie.domain, path: cookie.path)
    }

    /// Writes the cookies that have an ``HTTPCookie/expiresDate``, in Netscape's format, as a new file with the mode
    /// 0600 that takes the old one's place once it is on the disk. Blocks for the disk.
    ///
    /// - Parameter path: Nil for the storage's own file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` if there is no path.
    public func save(to path: String? = nil) throws(SessionError) {
        try core.save(to: path)
    }
}

extension CookieStorage: Hashable {
    public static func == (left: CookieStorage, right: CookieStorage) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
