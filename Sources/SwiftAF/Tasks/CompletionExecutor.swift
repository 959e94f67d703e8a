public import Dispatch

/// Where the closures of tasks are called: a queue, an executor, an actor, or a loop that isn't Swift's.
///
/// ```swift
/// manager.completionExecutor = .queue(DispatchQueue(label: "network"))
/// manager.completionExecutor = CompletionExecutor { work in loop.add(work) }
/// ```
///
/// The default, ``main``, needs a main thread that runs the main queue, as `dispatchMain()`, `RunLoop.main` and an
/// async `main` do. A program whose main thread runs another loop, such as GLib's, passes a function that adds work to
/// that loop (`g_idle_add`).
///
/// Closures are called in order, unless the queue, executor or function runs work concurrently.
public struct CompletionExecutor: Sendable {
    /// Work to run once.
    public typealias Work = @Sendable () -> Void

    /// The queue, if it is one.
    let queue: DispatchQueue?
    private let run: @Sendable (@escaping Work) -> Void

    /// Creates an executor of a function.
    ///
    /// - Parameter post: Arranges that work runs once, soon, without waiting for it. Called from any thread.
    public init(_ post: @escaping @Sendable (@escaping Work) -> Void) {
        queue = nil
        run = post
    }

    private init(_ queue: DispatchQueue) {
        self.queue = queue
        run = { queue.async(execute: $0) }
    }

    /// The main queue, where closures may use `MainActor.assumeIsolated(_:)`.
    public static let main = CompletionExecutor(.main)

    /// A queue. On a concurrent one, progress closures may run out of order and after the completion.
    public static func queue(_ queue: DispatchQueue) -> CompletionExecutor {
        CompletionExecutor(queue)
    }

    /// A task executor. Closures run on it in order only if it runs its jobs one after the other.
    public static func executor(_ executor: any TaskExecutor) -> CompletionExecutor {
        CompletionExecutor { work in
            Task(executorPreference: executor) { work() }
        }
    }

    /// The serial executor of an actor: closures run on it, in order, and may use `assumeIsolated(_:)` of the actor.
    ///
    /// The actor is retained. One that owns the manager is released only after the manager gets another executor.
    public static func actor(_ actor: some Actor) -> CompletionExecutor {
        let pending = PendingWork()
        return CompletionExecutor { work in
            pending.add(work)
            // Tasks may reach the actor in another order, so each runs what is due by then.
            Task { await pending.run(on: actor) }
        }
    }

    /// A serial executor. Closures run on it in order.
    public static func executor(_ executor: any SerialExecutor) -> CompletionExecutor {
        .actor(ExecutorActor(executor))
    }

    /// An executor that is both kinds, as those of event loops often are, used as the serial one: closures run on it in
    /// order.
    public static func executor(_ executor: any SerialExecutor & TaskExecutor) -> CompletionExecutor {
        .executor(executor as any SerialExecutor)
    }

    /// Runs work later; never before this function returns, unless the function of ``init(_:)`` does.
    func post(_ work: @escaping Work) {
        run(work)
    }
}

/// Creates a closure of a manager from one of the main actor, which then runs there, whatever the
/// ``HTTPSessionManager/completionExecutor`` is.
///
/// ```swift
/// manager.get("users/7", with: .value(User.self), success: onMainActor { task, user in
///     self.title = user.name
/// }, failure: nil)
/// ```
///
/// Closures of one task run in the order of their calls. ``HTTPSessionManager/completionGroup`` doesn't wait for them.
public func onMainActor<each Argument: Sendable>(
    _ work: @escaping @MainActor (repeat each Argument) -> Void
) -> @Sendable (repeat each Argument) -> Void {
    { (argument: repeat each Argument) in
        Task { @MainActor in work(repeat each argument) }
    }
}

/// Work that waits for an actor, in order.
private final class PendingWork: Sendable {
    private let works = Locked<[CompletionExecutor.Work]>([])

    func add(_ work: @escaping CompletionExecutor.Work) {
        works.withLock { $0.append(work) }
    }

    func run(on actor: isolated some Actor) {
        let due = works.withLock { works in
            defer { works = [] }
            return works
        }
        for work in due { work() }
    }
}

/// An actor on a given executor.
private actor ExecutorActor {
    private let executor: any SerialExecutor

    init(_ executor: any SerialExecutor) {
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}
