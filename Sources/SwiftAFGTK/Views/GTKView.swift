#if GTK
    internal import CAFGTK

    /// What SwiftAF keeps for a widget: the requests of its images, the task it shows. It lives as long as the widget.
    ///
    /// Get it from the widget's pointer, in whatever form your binding of GTK has it:
    ///
    /// ```swift
    /// GTKPicture.of(picture).setImage(with: "https://example.org/cat.jpg")
    /// ```
    ///
    /// The widget holds this object, and this object doesn't hold the widget. When the widget is destroyed, downloads
    /// for it end, and what you call after that has no effect.
    @MainActor
    public class GTKView {
        /// The widget; nil after it was destroyed.
        public private(set) var widget: OpaquePointer?

        /// The pixels for each of GTK's units: 2 on a HiDPI screen. 1 after the widget was destroyed.
        public var scaleFactor: Int { widget.map { Int(cafgtk_widget_scale($0)) } ?? 1 }

        /// Returns the object of a widget; the same one at each call.
        ///
        /// - Parameter widget: A live widget of the kind that the class is named after; another kind stops the program.
        public static func of(_ widget: OpaquePointer) -> Self {
            if let object = cafgtk_get_data(widget, key) {
                return unsafeDowncast(Unmanaged<GTKView>.fromOpaque(object).takeUnretainedValue(), to: Self.self)
            }
            precondition(
                cafgtk_is_a(widget, type) != 0,
                "a \(self) needs a \(String(cString: cafgtk_type_name(type))), "
                    + "and this is a \(String(cString: cafgtk_instance_type_name(widget)))")
            let view = Self(widget)
            cafgtk_set_data(widget, key, Unmanaged<GTKView>.passRetained(view).toOpaque()) { object in
                guard let object else { return }
                let view = Unmanaged<GTKView>.fromOpaque(object)
                MainActor.assumeIsolated { view.takeUnretainedValue().forgetWidget() }
                view.release()
            }
            view.attach(to: widget)
            return view
        }

        /// Returns the object of a widget; the same one at each call.
        public static func of<Instance>(_ widget: UnsafeMutablePointer<Instance>) -> Self {
            of(OpaquePointer(widget))
        }

        /// Returns the object of a widget; the same one at each call.
        public static func of(_ widget: UnsafeMutableRawPointer) -> Self {
            of(OpaquePointer(widget))
        }

        /// What the widget must be.
        class var type: cafgtk_type { cafgtk_widget_type() }

        private static var key: String { "swiftaf-\(self)" }

        required init(_ widget: OpaquePointer) {
            self.widget = widget
        }

        /// Called once, when the object belongs to the widget.
        func attach(to widget: OpaquePointer) {
            onSignal("destroy", of: widget) { [weak self] in self?.cancel() }
        }

        /// The widget is being destroyed: ends what was begun for it.
        func cancel() {}

        private func forgetWidget() {
            // First: a widget at its very end takes no calls.
            widget = nil
            cancel()
        }

        /// Calls `body` at each signal, which may have no parameters. The widget holds `body`.
        final func onSignal(_ name: String, of instance: OpaquePointer, _ body: @escaping @MainActor () -> Void) {
            cafgtk_connect_plain(
                UnsafeMutableRawPointer(instance), name,
                { _, handler in SignalHandler.call(handler, 0) }, SignalHandler.retained { _ in body() },
                { handler, _ in SignalHandler.release(handler) })
        }

        /// Calls `body` at each signal, whose only parameter is a number, flags or an enumeration. The widget holds
        /// `body`.
        final func onNumberSignal(
            _ name: String, of instance: OpaquePointer, _ body: @escaping @MainActor (UInt32) -> Void
        ) {
            cafgtk_connect_number(
                UnsafeMutableRawPointer(instance), name,
                { _, number, handler in SignalHandler.call(handler, number) }, SignalHandler.retained(body),
                { handler, _ in SignalHandler.release(handler) })
        }
    }

    /// A closure that a signal calls; the connection holds it.
    private final class SignalHandler: Sendable {
        private let body: @MainActor (UInt32) -> Void

        private init(_ body: @escaping @MainActor (UInt32) -> Void) {
            self.body = body
        }

        static func retained(_ body: @escaping @MainActor (UInt32) -> Void) -> UnsafeMutableRawPointer {
            Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        }

        static func call(_ handler: UnsafeMutableRawPointer?, _ number: UInt32) {
            guard let handler else { return }
            let object = Unmanaged<SignalHandler>.fromOpaque(handler).takeUnretainedValue()
            MainActor.assumeIsolated { object.body(number) }
        }

        static func release(_ handler: UnsafeMutableRawPointer?) {
            if let handler { Unmanaged<SignalHandler>.fromOpaque(handler).release() }
        }
    }
#endif
