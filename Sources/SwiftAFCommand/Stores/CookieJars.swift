import Glibc
import SwiftAF

/// The cookies of a run: the jars they are read from, and those that are written when it ends.
struct CookieJars {
    let storage: CookieStorage
    private(set) var outputs: [CookieOutput] = []

    /// Reads the jars. Call it before the first request.
    ///
    /// - Returns: Nil if the options name no jar.
    init?(_ options: Options) throws(Failure) {
        let written = options.writtenJars
        guard !written.isEmpty || !options.cookieInputs.isEmpty else { return nil }
        storage = try Self.failingAsInput { () throws(SessionError) in try CookieStorage() }
        for path in written {
            let option = path == options.cookieJar ? options.optionOfJar : "-c"
            guard options.readsJar(path) else {
                outputs.append(CookieOutput(path: path, option: option, storage: storage, former: nil))
                continue
            }
            // Only the cookies of this jar: those from other jars count as changes to it.
            let former = try Failure.naming(option) { () throws(Failure) in
                try Self.refuseOtherFile(path)
                return try add(path)
            }
            outputs.append(CookieOutput(path: path, option: option, storage: storage, former: former))
        }
        for path in options.cookieInputs where !written.contains(path) {
            try Failure.naming("-b") { () throws(Failure) in _ = try add(path) }
        }
    }

    /// Adds the cookies of a jar, and returns them. They replace those of jars before it.
    private func add(_ path: RawText) throws(Failure) -> [Cookie] {
        let piped = try Self.isPipe(path) ? InputFile.bytes(path, as: .store) : nil
        return try Self.failingAsInput { () throws(SessionError) in
            let jar = if let piped { try CookieFile.storage(of: piped) } else { try CookieFile.read(path) }
            let cookies = try jar.cookies()
            for cookie in cookies { try storage.setCookie(cookie) }
            return cookies
        }
    }

    /// Whether a jar can be read only once.
    private static func isPipe(_ path: RawText) -> Bool {
        guard path != "/dev/null", let status = FileStatus(path) else { return false }
        return [.pipe, .characterDevice].contains(status.kind)
    }

    /// Refuses to replace a file that isn't a cookie jar, or that has a cookie which the new one would lack.
    private static func refuseOtherFile(_ path: RawText) throws(Failure) {
        guard FileStatus(path)?.kind == .regular else { return }
        let content = try InputFile.bytes(path, as: .store)
        let advice = "-b PATH only reads, -c PATH replaces any file"
        guard CookieFile.isJar(content) else {
            throw Failure(
                .input, .invalidInput,
                "\(path.shown.printable) isn't a cookie jar, and would be replaced by one; \(advice)")
        }
        if let line = CookieFile.unusableLine(content) {
            throw Failure(
                .input, .invalidInput,
                """
                \(path.shown.printable), line \(line): the cookie has a semicolon, or breaks the rules of its name's \
                prefix, and would be lost; \(advice)
                """)
        }
    }

    /// Turns an error into one of an invalid input, because nothing was sent yet.
    private static func failingAsInput<Value>(_ work: () throws(SessionError) -> Value) throws(Failure) -> Value {
        do throws(SessionError) {
            return try work()
        } catch {
            throw error.code == .file ? Failure(.input, .invalidInput, error.message) : Failure(error)
        }
    }
}

extension Options {
    /// The jars that are written at the end, each once.
    var writtenJars: [RawText] {
        [cookieJar, cookieOutput == cookieJar ? nil : cookieOutput].compactMap(\.self)
    }

    /// The option that names ``cookieJar``.
    var optionOfJar: String { session == nil ? "--cookies" : "--session" }

    /// Whether a jar that is written is read, too. Its cookies are then kept, unless the run changes them.
    func readsJar(_ path: RawText) -> Bool {
        path == cookieJar || cookieInputs.contains(path)
    }
}
