internal import CAFCore
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
    /// The core lets any thread use it.
    nonisolated(unsafe) let raw: OpaquePointer

    /// Makes a storage.
    ///
    /// - Parameters:
    ///   - path: A file to begin with, if it is there, and to write when the storage goes; see ``save(to:)``. Nil for
    ///     none.
    ///   - maximumCount: Beyond it, expired cookies go, then those that were not used for longest; of a file with more,
    ///     those further up.
    ///   - maximumCountPerDomain: The same for each site: `example.co.uk` with all names below it.
    /// - Throws: ``SessionError/Code/file`` for a file that can't be read. Lines of it that are no cookies are left out.
    public init(path: String? = nil, maximumCount: Int = 3000, maximumCountPerDomain: Int = 180) throws(SessionError) {
        let arena = CoreArena()
        var options = af_cookie_jar_options()
        options.size = MemoryLayout<af_cookie_jar_options>.stride
        options.path = try arena.copy(path, "the path of the cookies")
        options.most = UInt32(clamping: max(1, maximumCount))
        options.most_per_domain = UInt32(clamping: max(1, maximumCountPerDomain))
        var failure = af_failure()
        var raw: OpaquePointer?
        let status = af_cookie_jar_new(&raw, &options, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK, let raw else { throw SessionError(failure) }
        self.raw = raw
    }

    deinit {
        af_cookie_jar_release(raw)
    }

    /// All cookies that have not expired.
    ///
    /// - Throws: ``SessionError/Code/outOfMemory`` only.
    public func cookies() throws(SessionError) -> [HTTPCookie] {
        try copy(nil)
    }

    /// The cookies that would be sent to a URL, in their order.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for what is no http or https URL with a host in ASCII.
    public func cookies(for url: String) throws(SessionError) -> [HTTPCookie] {
        try copy(url)
    }

    /// Puts a cookie in, in place of the one with its name, domain and path. One that has expired only takes that one out.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for what can't be a cookie, or not of its domain.
    public func setCookie(_ cookie: HTTPCookie) throws(SessionError) {
        let arena = CoreArena()
        var core = af_cookie()
        core.size = MemoryLayout<af_cookie>.stride
        core.name = try arena.copy(cookie.name, "the name of the cookie")
        core.value = try arena.copy(cookie.value, "the value of the cookie")
        core.domain = try arena.copy(cookie.domain, "the domain of the cookie")
        core.path = try arena.copy(cookie.path, "the path of the cookie")
        core.expires = cookie.expiresDate.map { Int64(clampingSeconds: $0.timeIntervalSince1970) } ?? .max
        core.host_only = cookie.isHostOnly
        core.secure = cookie.isSecure
        core.http_only = cookie.isHTTPOnly
        core.same_site =
            switch cookie.sameSite {
            case nil: .AF_SAME_SITE_UNSET
            case .some(.none): .AF_SAME_SITE_NONE
            case .lax: .AF_SAME_SITE_LAX
            case .strict: .AF_SAME_SITE_STRICT
            }
        var failure = af_failure()
        let status = af_cookie_jar_set(raw, &core, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    /// Does what a session does with the value of a `Set-Cookie` that a URL answered with.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a cookie that is refused, and why.
    public func receive(_ setCookie: String, from url: String) throws(SessionError) {
        let arena = CoreArena()
        let address = try arena.copy(url, "the URL")
        var failure = af_failure()
        var text = setCookie
        let status = text.withUTF8 { bytes in
            af_cookie_jar_receive(raw, address, af_slice(UnsafeRawBufferPointer(bytes)), &failure)
        }
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    /// Takes out the cookies of this name, domain and path; each that is nil is any.
    ///
    /// - Returns: Their number.
    @discardableResult
    public func deleteCookies(name: String? = nil, domain: String? = nil, path: String? = nil) -> Int {
        // No cookie has NUL in it.
        guard ![name, domain, path].contains(where: { $0?.utf8.contains(0) ?? false }) else { return 0 }
        let texts = [name, domain, path].map { $0.map(CoreText.init) }
        defer { withExtendedLifetime(texts) {} }
        return af_cookie_jar_delete(raw, texts[0]?.start, texts[1]?.start, texts[2]?.start)
    }

    /// Takes out the cookie of this name, domain and path.
    public func deleteCookie(_ cookie: HTTPCookie) {
        deleteCookies(name: cookie.name, domain: cookie.domain, path: cookie.path)
    }

    /// Writes the cookies that have an ``HTTPCookie/expiresDate``, in Netscape's format, as a new file with the mode 0600
    /// that takes the old one's place once it is on the disk. Blocks for the disk.
    ///
    /// - Parameter path: Nil for the storage's own file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` if there is no path.
    public func save(to path: String? = nil) throws(SessionError) {
        let arena = CoreArena()
        let place = try arena.copy(path, "the path of the cookies")
        var failure = af_failure()
        let status = af_cookie_jar_save(raw, place, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    private func copy(_ url: String?) throws(SessionError) -> [HTTPCookie] {
        let arena = CoreArena()
        let address = try arena.copy(url, "the URL")
        var failure = af_failure()
        var list: UnsafeMutablePointer<af_cookie_list>?
        let status = af_cookie_jar_copy(raw, address, &list, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK, let list else { throw SessionError(failure) }
        defer { af_cookie_list_free(list) }
        return UnsafeBufferPointer(start: list.pointee.cookies, count: list.pointee.count).map(HTTPCookie.init)
    }
}

extension CookieStorage: Hashable {
    public static func == (left: CookieStorage, right: CookieStorage) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension HTTPCookie {
    fileprivate init(_ core: af_cookie) {
        self.init(
            name: String(cString: core.name), value: String(cString: core.value), domain: String(cString: core.domain),
            path: String(cString: core.path),
            expiresDate: core.expires == .max ? nil : Date(timeIntervalSince1970: Double(core.expires)),
            isHostOnly: core.host_only, isSecure: core.secure, isHTTPOnly: core.http_only)
        sameSite =
            switch core.same_site {
            case .AF_SAME_SITE_NONE: SameSite.none
            case .AF_SAME_SITE_LAX: .lax
            case .AF_SAME_SITE_STRICT: .strict
            default: nil
            }
    }
}

extension Int64 {
    /// A date that is none is long ago.
    fileprivate init(clampingSeconds seconds: Double) {
        self = Int64(exactly: seconds.rounded(.down)) ?? (seconds > 0 ? .max - 1 : 0)
    }
}

extension af_cookie_policy {
    init(_ policy: HTTPCookie.AcceptPolicy) {
        self =
            switch policy {
            case .always: .AF_COOKIES_ALWAYS
            case .never: .AF_COOKIES_NEVER
            case .onlyFromMainDocumentDomain: .AF_COOKIES_MAIN_DOCUMENT
            }
    }
}
