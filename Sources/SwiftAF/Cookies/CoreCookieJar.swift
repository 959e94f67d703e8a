internal import CAFCore
import FoundationEssentials

/// Owns a reference to a cookie jar of the core. Thread-safe.
final class CoreCookieJar: @unchecked Sendable {
    let raw: OpaquePointer

    init(_ path: String?, maximumCount: Int, maximumCountPerDomain: Int) throws(SessionError) {
        var raw: OpaquePointer?
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var options = afc_cookie_jar_options()
            options.size = MemoryLayout<afc_cookie_jar_options>.stride
            options.path = try arena.copy(path, "the path of the cookies")
            options.max_cookies = UInt32(clamping: max(1, maximumCount))
            options.max_cookies_per_site = UInt32(clamping: max(1, maximumCountPerDomain))
            return afc_cookie_jar_new(&raw, &options, &failure)
        }
        guard let raw else { throw SessionError(.outOfMemory) }
        self.raw = raw
    }

    deinit {
        afc_cookie_jar_release(raw)
    }

    /// - Parameter url: The URL whose cookies are returned; nil returns all.
    func cookies(for url: String? = nil) throws(SessionError) -> [Cookie] {
        var list: UnsafeMutablePointer<afc_cookie_list>?
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_cookie_jar_copy(&list, raw, try arena.copy(url, "the URL"), &failure)
        }
        defer { afc_cookie_list_free(list) }
        return list.map { UnsafeBufferPointer(start: $0.pointee.cookies, count: $0.pointee.count).map(Cookie.init) }
            ?? []
    }

    func set(_ cookie: Cookie) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var core = try arena.core(cookie)
            return afc_cookie_jar_set(raw, &core, &failure)
        }
    }

    func receive(_ setCookie: String, from url: String) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            let address = try arena.copy(url, "the URL")
            return setCookie.withCoreSlice { afc_cookie_jar_receive(raw, address, $0, &failure) }
        }
    }

    /// Deletes the cookies with this name, domain and path; nil matches all. Returns the number of deleted cookies.
    @discardableResult
    func delete(_ name: String?, _ domain: String?, _ path: String?) -> Int {
        let arena = CoreArena()
        defer { withExtendedLifetime(arena) {} }
        do throws(SessionError) {
            return afc_cookie_jar_remove(
                raw, try arena.copy(name, "the name"), try arena.copy(domain, "the domain"),
                try arena.copy(path, "the path"))
        } catch {
            // The text contains NUL, which no cookie does.
            return 0
        }
    }

    func save(to path: String?) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_cookie_jar_save(raw, try arena.copy(path, "the path of the cookies"), &failure)
        }
    }

    /// Returns the text of a file with the cookies.
    func exported(includingSession: Bool) throws(SessionError) -> Data {
        var bytes = afc_bytes()
        try CoreArena.call { (_, failure) throws(SessionError) in
            afc_cookie_jar_export(raw, includingSession, &bytes, &failure)
        }
        return Data(taking: bytes)
    }
}

extension CoreArena {
    fileprivate func core(_ cookie: Cookie) throws(SessionError) -> afc_cookie {
        var core = afc_cookie()
        core.name = try copy(cookie.name, "the name of the cookie")
        core.value = try copy(cookie.value, "the value of the cookie")
        core.domain = try copy(cookie.domain, "the domain of the cookie")
        core.path = try copy(cookie.path, "the path of the cookie")
        core.expires_s = cookie.expiresDate.map { Int64(unixTime: $0) } ?? .max
        core.is_host_only = cookie.isHostOnly
        core.is_secure = cookie.isSecure
        core.is_http_only = cookie.isHTTPOnly
        core.same_site =
            switch cookie.sameSite {
            case nil: .AFC_SAME_SITE_UNSET
            case .unrestricted: .AFC_SAME_SITE_NONE
            case .lax: .AFC_SAME_SITE_LAX
            case .strict: .AFC_SAME_SITE_STRICT
            }
        return core
    }
}

extension Cookie {
    fileprivate init(_ core: afc_cookie) {
        self.init(
            name: String(cString: core.name), value: String(cString: core.value), domain: String(cString: core.domain),
            path: String(cString: core.path),
            expiresDate: core.expires_s == .max ? nil : Date(timeIntervalSince1970: Double(core.expires_s)),
            isHostOnly: core.is_host_only, isSecure: core.is_secure, isHTTPOnly: core.is_http_only)
        sameSite =
            switch core.same_site {
            case .AFC_SAME_SITE_NONE: .unrestricted
            case .AFC_SAME_SITE_LAX: .lax
            case .AFC_SAME_SITE_STRICT: .strict
            default: nil
            }
    }
}

extension afc_cookie_policy {
    init(_ policy: Cookie.AcceptPolicy) {
        self =
            switch policy {
            case .always: .AFC_COOKIES_ALWAYS
            case .never: .AFC_COOKIES_NEVER
            case .onlyFromMainDocumentDomain: .AFC_COOKIES_MAIN_DOCUMENT
            }
    }
}
