#if GTK
    internal import CAFGTK
    public import SwiftAFImage

    /// A `GtkProgressBar` that shows the progress of a task.
    ///
    /// ```swift
    /// GTKProgressBar.of(bar).setProgressWithDownloadProgress(of: task, animated: true)
    /// ```
    public final class GTKProgressBar: GTKView, ProgressDisplaying {
        public let taskBindings = TaskBindings()
        private var slide: Slide?

        /// A movement of the bar; times in microseconds of the frame clock.
        private struct Slide {
            let tick: UInt32
            let from, to: Double
            var start: Int64?
            static let duration: Int64 = 200_000
        }

        override class var type: cafgtk_type { cafgtk_progress_bar_type() }

        /// Shows a fraction.
        ///
        /// - Parameters:
        ///   - fraction: From 0 to 1.
        ///   - animated: Whether the bar moves there, in 200 ms. A bar that isn't on the screen never moves.
        public func setProgress(_ fraction: Double, animated: Bool) {
            endSlide()
            guard let widget else { return }
            guard animated, cafgtk_widget_is_mapped(widget) != 0 else {
                cafgtk_progress_bar_set(widget, fraction)
                return
            }
            let tick = cafgtk_widget_add_tick(
                widget,
                { _, clock, view in
                    guard let view else { return 0 }
                    let now = cafgtk_frame_time(clock)
                    let bar = Unmanaged<GTKProgressBar>.fromOpaque(view).takeUnretainedValue()
                    return MainActor.assumeIsolated { bar.move(at: now) } ? 1 : 0
                }, Unmanaged.passUnretained(self).toOpaque(), nil)
            slide = Slide(tick: tick, from: cafgtk_progress_bar_fraction(widget), to: fraction)
        }

        override package func attach(to widget: OpaquePointer) {
            super.attach(to: widget)
            // Ticks stop with the screen: the bar must not stay on its way.
            WidgetObjects.onSignal("unmap", of: widget) { [weak self] in
                guard let self, let slide else { return }
                setProgress(slide.to, animated: false)
            }
        }

        override func cancel() {
            endSlide()
            taskBindings.end()
        }

        /// Whether the animation continues.
        private func move(at now: Int64) -> Bool {
            guard let widget, var slide else { return false }
            let start = slide.start ?? now
            slide.start = start
            let part = min(1, max(0, Double(now - start) / Double(Slide.duration)))
            // Before the bar changes: a handler of the program may begin the next movement then.
            self.slide = part < 1 ? slide : nil
            cafgtk_progress_bar_set(widget, slide.from + (slide.to - slide.from) * part)
            return part < 1
        }

        private func endSlide() {
            if let slide, let widget { cafgtk_widget_remove_tick(widget, slide.tick) }
            slide = nil
        }
    }
#endif
