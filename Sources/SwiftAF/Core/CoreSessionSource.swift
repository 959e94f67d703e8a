import Glibc

/// The session of a manager, or the error of making it. If the error was a lack of memory, descriptors or threads, each
/// later request tries again. Thread-safe.
final class CoreSessionSource: Sendable {
    private let configuration: SessionConfiguration?
    private let first: Result<CoreSession, SessionError>
    /// The session that a later attempt has made, or ``first`` if ``retire()`` was called before one succeeded;
    /// otherwise nil.
    private let later = Locked<Result<CoreSession, SessionError>?>(nil)

    init(_ configuration: SessionConfiguration) {
        self.configuration = configuration
        first = Result { () throws(SessionError) in try CoreSession(configuration) }
    }

    /// Creates a source whose ``get()`` throws the error.
    init(failure: SessionError) {
        configuration = nil
        first = .failure(failure)
    }

    /// Returns the session. Tries to make it if that has failed for a reason that may have passed.
    func get() throws(SessionError) -> CoreSession {
        guard let configuration, case .failure(let error) = first, error.isShortage else { return try first.get() }
        if let result = later.withLock({ $0 }) { return try result.get() }
        let made = try CoreSession(configuration)
        // If another request was faster, its session is used. `made` is kept until the lock has been released, so that
        // a session isn't released under it.
        let result = later.withLock { later in
            let result = later ?? .success(made)
            later = result
            return result
        }
        return try withExtendedLifetime(made) { () throws(SessionError) in try result.get() }
    }

    /// The session, if it was made.
    var made: CoreSession? {
        if case .success(let session) = first { return session }
        return try? later.withLock({ $0 })?.get()
    }

    /// Returns the session, if it was made, and prevents that one is made later.
    func retire() -> CoreSession? {
        if case .success(let session) = first { return session }
        let result = later.withLock { later in
            let result = later ?? first
            later = result
            return result
        }
        return try? result.get()
    }
}

extension SessionError {
    /// Whether the process or the system lacked memory, descriptors or threads, so that another attempt may succeed.
    fileprivate var isShortage: Bool {
        code == .outOfMemory || systemError.map { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains($0) } ?? false
    }
}
