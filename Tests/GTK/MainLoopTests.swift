#if GTK
    import AFTestServer
    import CGTKBinding
    import Dispatch
    import Glibc
    import SwiftAF
    import SwiftAFGTK
    import Synchronization

    @MainActor
    private final class Counts {
        var jobs = 0
        var ticks = 0
        var longestPause: Duration = .zero
        var last = ContinuousClock.now

        func tick() {
            let now = ContinuousClock.now
            longestPause = max(longestPause, now - last)
            last = now
            ticks += 1
        }
    }

    /// Counts the turns of a loop that is never idle.
    private final class Turns: Sendable {
        private let turns = Atomic<Int>(0)

        var count: Int { turns.load(ordering: .relaxed) }

        func add() {
            turns.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// Counts with a timer of the main loop until `body` has ended.
    @MainActor
    private func counting(_ body: @MainActor (Counts) async throws -> Void) async rethrows -> Counts {
        let counts = Counts()
        let id = g_timeout_add(
            1,
            { counts in
                guard let counts else { return 0 }
                let object = Unmanaged<Counts>.fromOpaque(counts).takeUnretainedValue()
                MainActor.assumeIsolated { object.tick() }
                return 1
            }, Unmanaged.passUnretained(counts).toOpaque())
        defer { _ = g_source_remove(id) }
        try await body(counts)
        return counts
    }

    /// A source with the priority of painting (GDK_PRIORITY_REDRAW) that is always ready, for a minute.
    @MainActor
    private final class Paint {
        private(set) var count = 0
        private(set) var hasEnded = false
        private var mustEnd = false
        private let start = ContinuousClock.now

        func begin() {
            g_idle_add_full(
                120,
                { paint in
                    guard let paint else { return 0 }
                    let object = Unmanaged<Paint>.fromOpaque(paint).takeUnretainedValue()
                    return MainActor.assumeIsolated { object.paint() } ? 1 : 0
                }, Unmanaged.passRetained(self).toOpaque(),
                { paint in
                    if let paint { Unmanaged<Paint>.fromOpaque(paint).release() }
                })
        }

        /// Whether it goes on.
        private func paint() -> Bool {
            count += 1
            hasEnded = mustEnd || ContinuousClock.now - start > .seconds(60)
            return !hasEnded
        }

        func end() async {
            mustEnd = true
            while !hasEnded { await Harness.pause() }
        }
    }

    @MainActor let mainLoopTests = [
        TestCase("jobs of the main actor run on the first thread, in the main loop") {
            let thread = pthread_self()
            await Task.detached { await MainActor.run { Harness.expect(pthread_self(), is: thread) } }.value
            Harness.expect(MainActorInGLib.isInstalled)
        },
        TestCase("a second install() does nothing, one on another thread is refused") {
            try MainActorInGLib.install()
            let code = await Task.detached { () -> SessionError.Code? in
                do throws(SessionError) {
                    try MainActorInGLib.install()
                    return nil
                } catch {
                    return error.code
                }
            }.value
            Harness.expect(code, is: .invalidInput)
        },
        TestCase("blocks of the main queue run in their order, from any thread") {
            let numbers = await withCheckedContinuation { continuation in
                nonisolated(unsafe) var seen: [Int] = []
                DispatchQueue(label: "other").async {
                    for number in 0..<1000 {
                        DispatchQueue.main.async {
                            seen.append(number)
                            if number == 999 { continuation.resume(returning: seen) }
                        }
                    }
                }
            }
            Harness.expect(numbers, is: Array(0..<1000))
        },
        TestCase("completion closures of requests arrive") {
            let server = try TestServer()
            server.route("/hello", .text("hello"))
            let manager = HTTPSessionManager(responseSerializer: DataResponseSerializer())
            let body = await withCheckedContinuation { continuation in
                manager.dataTask(for: HTTPRequest(server.urlString("/hello")), with: DataResponseSerializer()) {
                    _, body, _ in
                    continuation.resume(returning: body)
                }.resume()
            }
            Harness.expect(body.map { String(decoding: $0, as: UTF8.self) }, is: "hello")
        },
        TestCase("timers and idle functions run while 200,000 jobs begin one another") {
            let counts = try await counting { counts in
                var idles = 0
                for _ in 0..<1000 {
                    await withTaskGroup { group in
                        for _ in 0..<200 { group.addTask { @MainActor in counts.jobs += 1 } }
                    }
                }
                try await Harness.until("a timer has run") { counts.ticks > 0 }
                Harness.after(0) { idles += 1 }
                try await Harness.until("a timer that was begun last has run") { idles == 1 }
            }
            Harness.expect(counts.jobs, is: 200_000)
            Harness.expect(counts.ticks > 1, "timers ran \(counts.ticks) times")
            print("    timers ran \(counts.ticks) times, the longest pause was \(counts.longestPause)")
        },
        TestCase("timers run after 200,000 jobs that waited at once") {
            let counts = try await counting { counts in
                for _ in 0..<200_000 { Task { @MainActor in counts.jobs += 1 } }
                try await Harness.until("all have run") { counts.jobs == 200_000 }
                try await Harness.until("a timer has run") { counts.ticks > 0 }
            }
            print("    the longest pause was \(counts.longestPause)")
        },
        TestCase("jobs go on although the window is always painted") {
            let paint = Paint()
            paint.begin()
            // Each job is a turn of its own, and longer than the time after which others go first.
            for _ in 0..<20 {
                let start = ContinuousClock.now
                while ContinuousClock.now - start < .milliseconds(9) {}
                await Task.detached { await MainActor.run {} }.value
            }
            Harness.expect(!paint.hasEnded, "jobs waited until painting ended")
            Harness.expect(paint.count >= 10, "it was painted \(paint.count) times between 20 jobs")
            await paint.end()
        },
        TestCase("an idle program doesn't wake up") {
            var before = rusage(), after = rusage()
            await Harness.pause()
            getrusage(__rusage_who_t(1), &before)
            await Harness.pause(milliseconds: 300)
            getrusage(__rusage_who_t(1), &after)
            // One for the timer; a few for what the display has to say.
            Harness.expect(
                after.ru_nvcsw - before.ru_nvcsw < 15, "\(after.ru_nvcsw - before.ru_nvcsw) wake-ups in 300 ms")
        },
        TestCase("a job runs within a few turns of the loop after it was posted from another thread") {
            let turns = Turns()
            let id = g_idle_add(
                { turns in
                    guard let turns else { return 0 }
                    Unmanaged<Turns>.fromOpaque(turns).takeUnretainedValue().add()
                    return 1
                }, Unmanaged.passUnretained(turns).toOpaque())
            defer { withExtendedLifetime(turns) { _ = g_source_remove(id) } }
            var fewest = Int.max
            for _ in 0..<200 {
                let passed = await Task.detached {
                    let before = turns.count
                    return await MainActor.run { turns.count - before }
                }.value
                fewest = min(fewest, passed)
            }
            // The thread that posts may be suspended between its two steps, but not every time.
            Harness.expect(fewest <= 20, "\(fewest) turns")
        },
    ]
#endif
