#if GTK
    internal import CAFGTK
    internal import Glibc
    public import SwiftAF

    /// Runs the main actor and `DispatchQueue.main` in GLib's main loop, and so in `g_application_run()`.
    ///
    /// ```swift
    /// // main.swift
    /// try MainActorInGLib.install()
    /// let app = OpaquePointer(gtk_application_new("org.example.App", G_APPLICATION_DEFAULT_FLAGS))!
    /// // …connect "activate"…
    /// g_application_run(UnsafeMutablePointer(app), CommandLine.argc, CommandLine.unsafeArgv)
    /// ```
    ///
    /// Without it, `Task { @MainActor in … }` never runs in a GTK program, because nothing serves libdispatch's main
    /// queue. The queue's descriptor becomes a source of the default main context: a job wakes the loop, and an idle
    /// program sleeps.
    ///
    /// - Each turn of the loop runs the jobs that waited at its beginning. After 8 ms of jobs, everything else that is
    ///   ready goes first: events, timers and drawing. If there is always something, such as a window that takes longer
    ///   to draw than a frame lasts, jobs run again after 10 ms. The jobs of one turn aren't interrupted: of 200,000
    ///   that wait at the same moment, all run before the next frame, for 0.5 to 1.4 s in a debug build. Jobs that
    ///   begin other jobs aren't of the same turn.
    /// - Jobs don't run in a nested main loop that a job started itself. In one that a signal handler started, they do.
    /// - `Timer` and `RunLoop` of Foundation need their own loop, and aren't served.
    public enum MainActorInGLib {
        /// Whether ``install()`` was called.
        @MainActor public static var isInstalled: Bool { source != nil }

        /// Begins to run the main actor's jobs in GLib's default main context. The second call does nothing.
        ///
        /// Call it on the program's first thread, before the main loop runs. In an `async` main function that is only
        /// before the first `await`.
        ///
        /// - Throws: ``/SwiftAF/SessionError`` with code ``/SwiftAF/SessionError/Code/invalidInput`` on another thread,
        ///   ``/SwiftAF/SessionError/Code/unsupported`` if libdispatch has no descriptor for its main queue.
        public static func install() throws(SessionError) {
            guard cafgtk_is_first_thread() != 0 else {
                throw SessionError(
                    .invalidInput,
                    message: "MainActorInGLib.install() must be called on the program's first thread, "
                        + "and in an async main function before the first await")
            }
            let hasSource = MainActor.assumeIsolated { attach() }
            guard hasSource else {
                throw SessionError(.unsupported, message: "libdispatch has no descriptor for its main queue")
            }
        }

        @MainActor private static var source: OpaquePointer?
        /// The time of the jobs since other sources of the loop went first, in microseconds.
        @MainActor private static var busy: Int64 = 0
        private static let longestBusy: Int64 = 8000
        /// Ends the time in which other sources go first; nil while they don't.
        @MainActor private static var timer: UInt32?
        private static let longestWait: UInt32 = 10

        @MainActor private static func attach() -> Bool {
            guard source == nil else { return true }
            let descriptor = cafgtk_main_queue_descriptor()
            guard descriptor >= 0, let made = cafgtk_descriptor_source(descriptor, UInt32(cafgtk_readable))
            else { return false }
            cafgtk_on_readable(made) { descriptor, _, _ in
                MainActorInGLib.drain(descriptor)
                return 1
            }
            cafgtk_source_set_priority(made, Int32(cafgtk_priority_default))
            _ = cafgtk_source_attach(made, nil)
            source = made
            return true
        }

        private static func drain(_ descriptor: CInt) {
            // Before the jobs: what is added meanwhile makes it readable again.
            var count: UInt64 = 0
            _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
            let start = cafgtk_now()
            cafgtk_main_queue_drain(nil)
            MainActor.assumeIsolated { makeRoom(after: cafgtk_now() - start) }
        }

        @MainActor private static func makeRoom(after time: Int64) {
            // At the lowest priority, nothing else was ready.
            if timer != nil { endWait() }
            busy += time
            guard busy > longestBusy else { return }
            cafgtk_source_set_priority(source, Int32(cafgtk_priority_idle))
            // Painting alone can keep the loop from lower priorities for ever. It goes first at least once, as this
            // timer isn't due before the next turn of the loop.
            timer = cafgtk_timeout(
                longestWait,
                { _ in
                    MainActor.assumeIsolated { MainActorInGLib.endWait(removesTimer: false) }
                    return 0
                }, nil)
        }

        /// Jobs go first again.
        @MainActor private static func endWait(removesTimer: Bool = true) {
            if removesTimer, let timer { cafgtk_source_remove(timer) }
            timer = nil
            busy = 0
            cafgtk_source_set_priority(source, Int32(cafgtk_priority_default))
        }
    }
#endif
