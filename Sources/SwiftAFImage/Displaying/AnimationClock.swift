/// Computes which frame of an animation is shown, and for how long. Has no timer: the view sets one.
///
/// Times are measured from any fixed moment. If a timer is late, the next frame is shown for less time; if it is late
/// by that frame's whole duration or more, the rest of the animation is delayed. No frame is skipped.
package struct AnimationClock {
    private enum State {
        case resting
        /// The animation plays, and the current frame is shown until this time.
        case playing(until: Duration)
        /// The animation has ended, and the last frame stays.
        case ended
    }

    private let durations: [Duration]
    /// The number of times that all frames are still shown, including the current one; nil means endlessly.
    private var playsLeft: Int?
    private var state = State.resting

    /// The frame to show.
    package private(set) var frame = 0

    /// The duration of a frame whose own duration is less than 20 ms. Browsers do the same.
    private static let replacement: Duration = .milliseconds(100)
    private static let shortest: Duration = .milliseconds(20)
    private static let longest: Duration = .seconds(86_400)

    package init(_ animation: ImageAnimation) {
        durations = animation.frames.map { frame in
            frame.duration < Self.shortest ? Self.replacement : min(frame.duration, Self.longest)
        }
        playsLeft = animation.playCount
        if durations.count < 2 { state = .ended }
    }

    /// Shows the current frame from now on, for its whole duration.
    ///
    /// - Returns: The time to wait before `advance(at:)`; nil if the animation has ended.
    package mutating func start(at now: Duration) -> Duration? {
        if case .ended = state { return nil }
        state = .playing(until: now + durations[frame])
        return durations[frame]
    }

    /// Pauses the animation, because the view isn't visible. The current frame stays until `start(at:)`.
    package mutating func rest() {
        if case .playing = state { state = .resting }
    }

    /// Moves on to the next frame.
    ///
    /// - Returns: The time to wait before the next call; nil if the animation has ended or is paused.
    package mutating func advance(at now: Duration) -> Duration? {
        guard case .playing(let planned) = state else { return nil }
        if frame == durations.count - 1, let left = playsLeft {
            playsLeft = left - 1
            if left == 1 {
                state = .ended
                return nil
            }
        }
        frame = (frame + 1) % durations.count
        // After a long delay, such as a suspended machine, the frames keep their durations.
        let start = now - planned < durations[frame] ? planned : now
        state = .playing(until: start + durations[frame])
        return max(.zero, start + durations[frame] - now)
    }
}
