#if GTK
    internal import CAFGTK
    public import SwiftAF
    public import SwiftAFImage

    /// Pull to refresh for a `GtkScrolledWindow`: pulling its content below the top starts a task, and a spinner is
    /// shown until the task ends.
    ///
    /// ```swift
    /// let refresh = GTKRefresh.of(scrolledWindow)
    /// gtk_box_prepend(box, .init(refresh.indicator))
    /// refresh.onRefresh = { reload() }
    /// ```
    public final class GTKRefresh: GTKView, Refreshing {
        public let taskBindings = TaskBindings()
        /// A `GtkRevealer` with a spinner, to be put above the scrolled window or over it.
        public let indicator: OpaquePointer
        /// Begins to reload, and returns the task to show. Not called while the indicator is shown. Default: nil.
        public var onRefresh: (@MainActor () -> SessionTask?)?
        /// Whether the indicator is shown.
        public private(set) var isRefreshing = false
        private let spinner: OpaquePointer

        override class var type: cafgtk_type { cafgtk_scrolled_window_type() }

        required init(_ widget: OpaquePointer) {
            indicator = cafgtk_revealer_new()
            spinner = cafgtk_spinner_new()
            // Kept until this object ends, wherever the indicator is put, and whatever is put into it.
            for widget in [indicator, spinner] { cafgtk_ref_sink(UnsafeMutableRawPointer(widget)) }
            cafgtk_revealer_set_child(indicator, spinner)
            super.init(widget)
        }

        isolated deinit {
            for widget in [indicator, spinner] { cafgtk_unref(UnsafeMutableRawPointer(widget)) }
        }

        public func beginRefreshing() {
            if widget != nil { set(true) }
        }

        public func endRefreshing() {
            set(false)
        }

        /// Does what a pull does: for a button, or a key.
        public func refresh() {
            guard widget != nil, !isRefreshing, let task = onRefresh?() else { return }
            setRefreshing(with: task)
        }

        override package func attach(to widget: OpaquePointer) {
            super.attach(to: widget)
            WidgetObjects.onNumberSignal("edge-overshot", of: widget) { [weak self] edge in
                if edge == cafgtk_top { self?.refresh() }
            }
        }

        override func cancel() {
            onRefresh = nil
            taskBindings.end()
            set(false)
        }

        private func set(_ isOn: Bool) {
            isRefreshing = isOn
            cafgtk_revealer_reveal(indicator, isOn ? 1 : 0)
            if isOn { cafgtk_spinner_start(spinner) } else { cafgtk_spinner_stop(spinner) }
        }
    }
#endif
