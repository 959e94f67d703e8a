/// An object that records its own release, such as that of a closure which captures it.
final class Sentinel: Sendable {
    private let released: Recorder<Void>

    init(_ released: Recorder<Void>) { self.released = released }

    deinit { released.record(()) }
}
