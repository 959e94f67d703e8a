import CGTK
import Glibc

/// How long the main loop is busy: in each of its turns, from one poll to the next, and in the frames of GTK's frame
/// clock within them. What is left of a turn is the program's: jobs of the main actor, signals, timers. Where other
/// programs take the processor, judge by the first thread's own time.
@MainActor
final class FrameTimes {
    /// In microseconds: of a clock, and of the first thread's own processor time, which other programs don't change.
    private struct Time {
        var clock: Int64 = 0, processor: Int64 = 0

        static var now: Time {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Time(
                clock: g_get_monotonic_time(), processor: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
        }

        static func - (left: Time, right: Time) -> Time {
            Time(clock: left.clock - right.clock, processor: left.processor - right.processor)
        }
    }

    /// The one that the poll function reports to.
    private static var current: FrameTimes?
    private var turn: Time?
    private var frame: Time?
    private var inFrames = Time()
    private var isPaused = false
    private var frames: [Time] = []
    private var rests: [Time] = []
    private var turns: [Time] = []

    init(_ window: OpaquePointer) {
        Self.current = self
        let clock = UnsafeMutableRawPointer(gtk_widget_get_frame_clock(window))
        let this = Unmanaged.passUnretained(self).toOpaque()
        for (signal, call) in [("before-paint", Self.begins), ("after-paint", Self.ends)] {
            cgtk_connect(clock, signal, call, this, nil)
        }
        g_main_context_set_poll_func(nil) { descriptors, count, timeout in
            MainActor.assumeIsolated { FrameTimes.current?.endTurn() }
            defer { MainActor.assumeIsolated { FrameTimes.current?.turn = .now } }
            return g_poll(descriptors, count, timeout)
        }
    }

    private static let begins: cgtk_plain_call = { _, times in
        FrameTimes.at(times) { $0.frame = .now }
    }

    private static let ends: cgtk_plain_call = { _, times in
        FrameTimes.at(times) { $0.endFrame() }
    }

    private nonisolated static func at(_ times: UnsafeMutableRawPointer?, _ body: @MainActor (FrameTimes) -> Void) {
        guard let times else { return }
        let object = Unmanaged<FrameTimes>.fromOpaque(times).takeUnretainedValue()
        MainActor.assumeIsolated { body(object) }
    }

    /// Counts nothing until `resume()`.
    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        turn = nil
    }

    private func endFrame() {
        guard let frame else { return }
        let time = Time.now - frame
        self.frame = nil
        inFrames = Time(clock: inFrames.clock + time.clock, processor: inFrames.processor + time.processor)
        if !isPaused { frames.append(time) }
    }

    private func endTurn() {
        defer { inFrames = Time() }
        guard let turn, !isPaused else { return }
        let whole = Time.now - turn
        turns.append(whole)
        rests.append(whole - inFrames)
    }

    /// Prints the distributions, in milliseconds.
    func report() {
        for (name, times) in [("turns", turns), ("frames of GTK in them", frames), ("the rest of them", rests)] {
            print("\(name): \(times.count)")
            Self.report("clock", times.map(\.clock))
            Self.report("processor", times.map(\.processor))
        }
    }

    private static func report(_ name: String, _ microseconds: [Int64]) {
        guard !microseconds.isEmpty else { return }
        let sorted = microseconds.sorted()
        func part(_ part: Double) -> Double { Double(sorted[Int(part * Double(sorted.count - 1))]) / 1000 }
        let last = sorted.suffix(5).map { "\(Double($0) / 1000)" }.joined(separator: " ")
        print(
            "    \(name): median \(part(0.5)) ms, 90 % \(part(0.9)), 99 % \(part(0.99)), 99.9 % \(part(0.999)); longest \(last);"
                + " over 16 ms: \(sorted.count { $0 > 16_000 })")
    }
}
