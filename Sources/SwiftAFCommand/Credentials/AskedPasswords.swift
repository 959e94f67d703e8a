import SwiftAF

/// The passwords that were typed in this run, so that each is asked for once per user and origin.
final class AskedPasswords: Sendable {
    private struct Typed {
        var user: String
        var origin: Origin
        var password: String
    }

    // An array, because there are only a few. The first dictionary that a program uses makes the runtime search all its
    // conformances: 0.1 ms of the time to the first byte (Benchmarks/first-byte).
    private let typed = Locked<[Typed]>([])

    /// Returns the password that was typed for the user and the origin of a URL, or asks for it.
    func password(of user: String, for url: String, _ ask: () throws(Failure) -> String) throws(Failure) -> String {
        guard let origin = Origin(url) else { return try ask() }
        if let known = typed.withLock({ $0.first { $0.user == user && $0.origin == origin } }) { return known.password }
        let password = try ask()
        typed.withLock { $0.append(Typed(user: user, origin: origin, password: password)) }
        return password
    }
}
