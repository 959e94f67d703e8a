import Foundation
public import FoundationNetworking
public import SwiftAF

extension Cookie {
    /// Converts a cookie of Foundation, to store it with `CookieStorage.setCookie(_:)`.
    ///
    /// - A leading dot of the domain means that subdomains get the cookie, too: ``isHostOnly`` is false, and ``domain``
    ///   has no dot.
    /// - A cookie whose `isSessionOnly` is true has no ``expiresDate``.
    /// - A path that doesn't begin with a slash becomes `/`.
    /// - ``sameSite`` is nil: on Linux, Foundation doesn't keep it. Ports, comments and the version are left out.
    public init(_ cookie: HTTPCookie) {
        let isForSubdomains = cookie.domain.hasPrefix(".")
        self.init(
            name: cookie.name, value: cookie.value,
            domain: isForSubdomains ? String(cookie.domain.dropFirst()) : cookie.domain,
            path: cookie.path.hasPrefix("/") ? cookie.path : "/",
            expiresDate: cookie.isSessionOnly ? nil : cookie.expiresDate, isHostOnly: !isForSubdomains,
            isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly)
    }
}

extension HTTPCookie {
    /// Converts a cookie. If subdomains get it, too, the domain has a leading dot. On Linux, Foundation doesn't keep
    /// `Cookie.sameSite`.
    ///
    /// Nil if Foundation refuses the cookie, which it doesn't on Linux.
    public convenience init?(_ cookie: Cookie) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .path: cookie.path,
            .domain: cookie.isHostOnly ? cookie.domain : ".\(cookie.domain)",
        ]
        // Set only for true: the value is a text, and any text means true.
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        if let date = cookie.expiresDate { properties[.expires] = date } else { properties[.discard] = "TRUE" }
        self.init(properties: properties)
    }
}
