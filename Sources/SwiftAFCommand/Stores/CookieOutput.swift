import FoundationEssentials
import SwiftAF

/// The jar that a run writes when it ends.
struct CookieOutput {
    let path: RawText
    /// The option that names the jar, for errors.
    let option: String
    let storage: CookieStorage
    /// The cookies that were read from the jar; nil if it wasn't read. It is then replaced, whatever it holds.
    let former: [Cookie]?

    /// The cookies, if they go to standard output: `-c -`. They are then printed at the end of the run, and not saved.
    func printed() throws(Failure) -> Data? {
        guard path == "-" else { return nil }
        return try inFailures { () throws(SessionError) in try Self.text(of: storage) }
    }

    /// Whether the file is kept, because there is nothing to write: nothing was received, and no cookie was read.
    ///
    /// - Parameter outcome: That of the run.
    func keepsFile(after outcome: Outcome) throws(Failure) -> Bool {
        guard former == nil, !outcome.hasReceived else { return false }
        return try inFailures { () throws(SessionError) in try storage.cookies().isEmpty }
    }

    /// Writes the jar. What other runs have changed meanwhile in a jar that was read stays, except the cookies that
    /// this run set or removed.
    func save() async throws(Failure) {
        guard let former else { return try inFailures { () throws(SessionError) in try write(storage) } }
        let changes = try inFailures { () throws(SessionError) in
            CookieChanges(from: former, to: try storage.cookies())
        }
        try await FileLock.hold(for: path) { () throws(Failure) in
            try inFailures { () throws(SessionError) in
                let jar = try CookieFile.read(path)
                try changes.apply(to: jar)
                try write(jar)
            }
        }
    }

    private func inFailures<Value>(_ work: () throws(SessionError) -> Value) throws(Failure) -> Value {
        do throws(SessionError) {
            return try work()
        } catch {
            throw Failure(error)
        }
    }

    /// Returns the text of a jar. It includes cookies without a date, because the commands of a script are one session.
    private static func text(of storage: CookieStorage) throws(SessionError) -> Data {
        try storage.exported(includingSession: true)
    }

    private func write(_ storage: CookieStorage) throws(SessionError) {
        try OutputFile.write(try Self.text(of: storage), to: path, syncs: true, isShown: true)
    }
}

/// The cookies that a run set or removed.
struct CookieChanges {
    private struct Key: Hashable {
        let name, domain, path: String

        init(_ cookie: Cookie) {
            (name, domain, path) = (cookie.name, cookie.domain, cookie.path)
        }
    }

    private let removed: [Cookie]
    private let set: [Cookie]

    init(from former: [Cookie], to latter: [Cookie]) {
        let before = Dictionary(former.map { (Key($0), $0) }) { $1 }
        let after = Set(latter.map(Key.init))
        let now = Date()
        // An expired cookie wasn't removed by this run, and another run may have renewed it.
        removed = former.filter { !after.contains(Key($0)) && $0.expiresDate.map { $0 > now } ?? true }
        set = latter.filter { before[Key($0)] != $0 }
    }

    func apply(to jar: CookieStorage) throws(SessionError) {
        for cookie in removed { jar.deleteCookie(cookie) }
        for cookie in set { try jar.setCookie(cookie) }
    }
}
