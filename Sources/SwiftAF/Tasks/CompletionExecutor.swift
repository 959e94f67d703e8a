public import Dispatch

/// Where the closures of tasks are called: on a queue, an executor, an actor, or in a loop of another library.
///
/// ```swift
/// manager.completionExecutor = .queue(DispatchQueue(label: "network"))
/// manager.completionExecutor = CompletionExecutor { work in loop.add(work) }
/// ```
///
/// The default, ``main``, requires that the main thread runs the main queue, as `dispatchMain()`, `RunLoop.main` and an
/// async `main` do. A program whose main thread runs another loop, such as GLib's, passes a function that adds work to
/// that loop (`g_idle_add`).
///
/// Closures are called in order, unless the queue, executor or function runs work concurrently.
public struct CompletionExecutor: Sendable {
    /// Work to run once.
    public typealias Work = @Sendable () -> Void

    /// The queue of an executor made from one; otherwise nil.
    let queue: DispatchQueue?
    private let run: @Sendable (@escaping Work) -> Void

    /// Creates an executor from a function.
    ///
    /// - Parameter post: Arranges for the work to run once, soon, and returns without waiting for it. Called on any
    ///   thread.
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

    /// Calls closures on a queue. On a concurrent one, progress closures may run out of order and after the
    /// completion.
    public static func queue(_ queue: DispatchQueue) -> CompletionExecutor {
        CompletionExecutor(queue)
    }

    /// Calls closures on a task executor. They run in order only if it runs its jobs one after the other.
    public static func executor(_ executor: any TaskExecutor) -> CompletionExecutor {
        CompletionExecutor { work in
            Task(executorPreference: executor) { work() }
        }
    }

    /// Calls closures on the serial executor of an actor, in order; they may use `assumeIsolated(_:)` of the actor.
    ///
    /// The actor is retained by the manager that this executor is set on. If the actor owns the manager, neither is
    /// released before the manager gets another executor.
    public static func actor(_ actor: some Actor) -> CompletionExecutor {
        let pending = PendingWork()
        return CompletionExecutor { work in
            pending.add(work)
            // Tasks may reach the actor in another order than they were created in, so each of them runs all work that
            // was added by then, in order.
            Task { await pending.run(on: actor) }
        }
    }

    /// Calls closures on a serial executor, in order.
    public static func executor(_ executor: any SerialExecutor) -> CompletionExecutor {
        .actor(ExecutorActor(executor))
    }

    /// Calls closures, in order, on an executor that is both a serial and a task executor, as those of event loops
    /// often are. It is used as the serial one.
    public static func executor(_ executor: any SerialExecutor & TaskExecutor) -> CompletionExecutor {
        .executor(executor as any SerialExecutor)
    }

    /// Runs work later. Only an executor made by ``init(_:)`` may run it before this function returns.
    func post(_ work: @escaping Work) {
        run(work)
    }
}

/// Turns a closure of the main actor into one for a manager's call. It runs on the main actor, whatever the
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

/// The work that waits to run on an actor, in order.
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

/// An actor that runs on a given executor.
private actor ExecutorActor {
    private let executor: any SerialExecutor

    init(_ executor: any SerialExecutor) {
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}
