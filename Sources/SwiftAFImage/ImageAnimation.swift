/// The frames of an animated image. Copies share the pixels.
public struct ImageAnimation: Sendable, Equatable {
    /// The frames, in the order in which they are shown.
    public let frames: [ImageFrame]
    /// The number of times that all frames are shown, after which the last one stays; nil means endlessly.
    public let playCount: Int?

    /// Creates an animation. `playCount` is at least 1.
    public init(_ frames: [ImageFrame], playCount: Int? = nil) {
        self.frames = frames
        self.playCount = playCount.map { max(1, $0) }
    }

    /// The size of the pixels of all frames in bytes.
    public var byteCount: Int { frames.reduce(0) { $0 + $1.image.byteCount } }

    func map<Failure: Error>(_ change: (Image) throws(Failure) -> Image) throws(Failure) -> ImageAnimation {
        var changed: [ImageFrame] = []
        changed.reserveCapacity(frames.count)
        for frame in frames { changed.append(ImageFrame(image: try change(frame.image), duration: frame.duration)) }
        return ImageAnimation(changed, playCount: playCount)
    }
}

/// A frame of an animation.
public struct ImageFrame: Sendable, Equatable {
    /// The pixels.
    public var image: Image
    /// The duration of the frame in its file. Views show a frame of less than 20 ms for 100 ms, as browsers do.
    public var duration: Duration

    /// Creates a frame.
    public init(image: Image, duration: Duration) {
        self.image = image
        self.duration = duration
    }
}
