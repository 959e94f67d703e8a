#if GTK
    internal import CAFGTK
    internal import SwiftAF
    internal import SwiftAFImage

    /// Plays an animation in a widget, with a timer that runs only while the widget is on the screen and the user wants
    /// animations (`gtk-enable-animations`).
    @MainActor
    final class Animation {
        private let frames: [ImageFrame]
        private var clock: AnimationClock
        private let show: @MainActor (Image) -> Void
        private let widget: OpaquePointer
        private var timer: UInt32?

        private static var now: Duration { .microseconds(cafgtk_now()) }

        /// Neither shows a frame nor starts.
        init(_ animation: ImageAnimation, in widget: OpaquePointer, _ show: @escaping @MainActor (Image) -> Void) {
            frames = animation.frames
            clock = AnimationClock(animation)
            self.show = show
            self.widget = widget
        }

        isolated deinit {
            stop()
        }

        /// Shows the current frame. Handlers of the program may run meanwhile.
        func showFrame() {
            WidgetObjects.hold(widget) { show(frames[clock.frame].image) }
        }

        /// Starts it, or goes on, if the widget is on the screen and the user wants animations.
        func start() {
            guard timer == nil, cafgtk_widget_is_mapped(widget) != 0, cafgtk_wants_animations(widget) != 0 else {
                return
            }
            setTimer(clock.start(at: Self.now))
        }

        /// Stays at the current frame.
        func stop() {
            if let timer { cafgtk_source_remove(timer) }
            timer = nil
            clock.rest()
        }

        private func advance() {
            timer = nil
            guard cafgtk_wants_animations(widget) != 0 else { return clock.rest() }
            let former = clock.frame
            setTimer(clock.advance(at: Self.now))
            if clock.frame != former { showFrame() }
        }

        private func setTimer(_ wait: Duration?) {
            guard let wait else { return }
            timer = cafgtk_timeout(
                UInt32(clamping: wait.wholeMilliseconds),
                { animation in
                    guard let animation else { return 0 }
                    let object = Unmanaged<Animation>.fromOpaque(animation).takeUnretainedValue()
                    MainActor.assumeIsolated { object.advance() }
                    return 0
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// The animations of a widget, one for each place.
    @MainActor
    final class Animations {
        private var playing: [ImageSlot: Animation] = [:]
        private var isAttached = false

        /// Shows an image instead of what the place has shown; plays it if it is animated.
        ///
        /// - Parameter show: Called with each frame, or with the still image.
        func show(
            _ image: Image?, in slot: ImageSlot, of widget: OpaquePointer, _ show: @escaping @MainActor (Image?) -> Void
        ) {
            playing[slot] = nil
            guard let animation = image?.animation else { return show(image) }
            attach(to: widget)
            let next = Animation(animation, in: widget) { show($0) }
            playing[slot] = next
            next.showFrame()
            // A handler of the program may have shown another image meanwhile, or destroyed the widget.
            if playing[slot] === next { next.start() }
        }

        /// The frames that are shown stay.
        func stop() {
            playing = [:]
        }

        private func attach(to widget: OpaquePointer) {
            guard !isAttached else { return }
            isAttached = true
            WidgetObjects.onSignal("map", of: widget) { [weak self] in
                self?.playing.values.forEach { $0.start() }
            }
            WidgetObjects.onAnimationSetting(of: widget) { [weak self] in
                self?.playing.values.forEach { $0.start() }
            }
            WidgetObjects.onSignal("unmap", of: widget) { [weak self] in
                self?.playing.values.forEach { $0.stop() }
            }
        }
    }
#endif
