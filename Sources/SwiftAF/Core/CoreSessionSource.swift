import Glibc

/// The session of a manager, or why it has none. A session that couldn't be made for want of memory or descriptors is
/// made by a later request.
final class CoreSessionSource: Sendable {
    private let configuration: SessionConfiguration?
    private let first: Result<CoreSession, SessionError>
    /// The result of a later attempt, if the first one lacked something; nil before one has succeeded.
    private let later = Locked<Result<CoreSession, SessionError>?>(nil)

    init(_ configuration: SessionConfiguration) {
        self.configuration = configuration
        first = Result { () throws(SessionError) in try CoreSession(configuration) }
    }

    /// Makes the source of no session.
    init(failure: SessionError) {
        configuration = nil
        first = .failure(failure)
    }

    /// Returns the session; makes it if it may succeed now.
    func get() throws(SessionError) -> CoreSession {
        guard let configuration, case .failure(let error) = first, error.isShortage else { return try first.get() }
        if let result = later.withLock({ $0 }) { return try result.get() }
        let made = try CoreSession(configuration)
        // That of another request counts, if it was faster. The lock doesn't release the other one.
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

    /// Returns the session, if it was made. No other is made afterwards.
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
