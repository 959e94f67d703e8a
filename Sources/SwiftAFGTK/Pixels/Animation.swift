#if GTK
    internal import CAFGTK
    internal import SwiftAFImage

    /// Shows the frames of an animation, one after the other, without end. A timer runs only while the widget is on the
    /// screen.
    @MainActor
    final class Animation {
        private let frames: [ImageFrame]
        private let show: @MainActor (Image) -> Void
        private var next = 0
        private var timer: UInt32?

        /// Browsers wait this long for a frame that says less than 20 ms, too.
        private static let shortest: Duration = .milliseconds(20)
        private static let replacement: Duration = .milliseconds(100)

        init(_ frames: [ImageFrame], in widget: OpaquePointer, _ show: @escaping @MainActor (Image) -> Void) {
            self.frames = frames
            self.show = show
            advance()
            if cafgtk_widget_is_mapped(widget) == 0 { stop() }
        }

        isolated deinit {
            stop()
        }

        func start() {
            if timer == nil { advance() }
        }

        func stop() {
            if let timer { cafgtk_source_remove(timer) }
            timer = nil
        }

        private func advance() {
            let frame = frames[next]
            next = (next + 1) % frames.count
            show(frame.image)
            let duration = frame.duration < Self.shortest ? Self.replacement : frame.duration
            let (seconds, attoseconds) = duration.components
            let milliseconds = min(seconds, 86_400) * 1000 + attoseconds / 1_000_000_000_000_000
            timer = cafgtk_timeout(
                UInt32(milliseconds),
                { animation in
                    guard let animation else { return 0 }
                    let object = Unmanaged<Animation>.fromOpaque(animation).takeUnretainedValue()
                    MainActor.assumeIsolated {
                        object.timer = nil
                        object.advance()
                    }
                    return 0
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }
#endif
