/// Says which frame of an animation is shown, and for how long. A value: the view has the timer.
///
/// Times count from any fixed moment. If a timer is late, the next frame is shorter; if it is late by that frame's
/// whole duration, the rest of the animation is later. No frame is left out.
package struct AnimationClock {
    private enum State {
        case resting
        /// The current frame ends then.
        case playing(until: Duration)
        /// The last frame stays.
        case ended
    }

    private let durations: [Duration]
    /// How often all frames are still shown, the current time included; nil for without end.
    private var playsLeft: Int?
    private var state = State.resting

    /// The frame to show.
    package private(set) var frame = 0

    /// Browsers show a frame that says less than 20 ms for this long, too.
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
    /// - Returns: How long to wait before `advance(at:)`; nil if the animation has ended.
    package mutating func start(at now: Duration) -> Duration? {
        if case .ended = state { return nil }
        state = .playing(until: now + durations[frame])
        return durations[frame]
    }

    /// The view isn't seen. The current frame stays until `start(at:)`.
    package mutating func rest() {
        if case .playing = state { state = .resting }
    }

    /// Goes to the next frame.
    ///
    /// - Returns: How long to wait before the next call; nil if the animation has ended or rests.
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
        // After a long delay, such as sleep, the frames don't hurry.
        let start = now - planned < durations[frame] ? planned : now
        state = .playing(until: start + durations[frame])
        return max(.zero, start + durations[frame] - now)
    }
}
