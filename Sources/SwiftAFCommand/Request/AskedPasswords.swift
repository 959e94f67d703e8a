import FoundationEssentials
import SwiftAF

/// The passwords that were typed in this run, so that each is asked for once per user and host.
final class AskedPasswords: Sendable {
    private struct Key: Hashable {
        var user: String
        var host: String?
    }

    private let typed = Locked<[Key: String]>([:])

    /// Returns the password that was typed for the user and the host of a URL, or asks for it.
    func password(of user: String, for url: String, _ ask: () throws(Failure) -> String) throws(Failure) -> String {
        let parts = URL(string: url)
        let host = parts?.host().map { "\(parts?.scheme ?? "")://\($0):\(parts?.port ?? 0)".lowercased() }
        let key = Key(user: user, host: host)
        if host != nil, let password = typed.withLock({ $0[key] }) { return password }
        let password = try ask()
        typed.withLock { $0[key] = password }
        return password
    }
}
