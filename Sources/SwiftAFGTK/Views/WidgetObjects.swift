#if GTK
    internal import CAFGTK

    /// An object that belongs to a widget, and lives as long as it.
    @MainActor
    package protocol WidgetBound: AnyObject {
        /// Called once, when the object belongs to the widget.
        func attach(to widget: OpaquePointer)
        /// The widget is at its end, and takes no calls any more.
        func forgetWidget()
    }

    /// The objects that belong to widgets, and the signals that they get from them.
    @MainActor
    package enum WidgetObjects {
        /// Returns the widget's object of a class, which is made by the first call.
        ///
        /// - Parameter type: The `GType` that the widget must have.
        package static func object<Object: WidgetBound>(
            of widget: OpaquePointer, type: UInt, _ make: () -> Object
        ) -> Object {
            let key = "swiftaf-\(Object.self)"
            if let object = cafgtk_get_data(widget, key) {
                return unsafeDowncast(Unmanaged<AnyObject>.fromOpaque(object).takeUnretainedValue(), to: Object.self)
            }
            precondition(
                cafgtk_is_a(widget, type) != 0,
                "a \(Object.self) needs a \(String(cString: cafgtk_type_name(type))), "
                    + "and this is a \(String(cString: cafgtk_instance_type_name(widget)))")
            let object = make()
            cafgtk_set_data(widget, key, Unmanaged<AnyObject>.passRetained(object).toOpaque()) { object in
                guard let object else { return }
                let held = Unmanaged<AnyObject>.fromOpaque(object)
                MainActor.assumeIsolated { (held.takeUnretainedValue() as? any WidgetBound)?.forgetWidget() }
                held.release()
            }
            object.attach(to: widget)
            return object
        }

        /// Calls `body` while the widget is held: a handler of the program may destroy it meanwhile.
        static func hold(_ widget: OpaquePointer, _ body: () -> Void) {
            let object = UnsafeMutableRawPointer(widget)
            cafgtk_ref(object)
            defer { cafgtk_unref(object) }
            body()
        }

        /// Calls `body` when the widget is being destroyed, which may be long before its end.
        package static func onDestroy(of widget: OpaquePointer, _ body: @escaping @MainActor () -> Void) {
            onSignal("destroy", of: widget, body)
        }

        /// Calls `body` at each signal, which may have no parameters. The widget holds `body`.
        static func onSignal(_ name: String, of widget: OpaquePointer, _ body: @escaping @MainActor () -> Void) {
            cafgtk_connect_plain(
                UnsafeMutableRawPointer(widget), name,
                { _, handler in SignalHandler.call(handler, 0) }, SignalHandler.retained { _ in body() },
                { handler, _ in SignalHandler.release(handler) })
        }

        /// Calls `body` at each signal, whose only parameter is a number, flags or an enumeration. The widget holds
        /// `body`.
        static func onNumberSignal(
            _ name: String, of widget: OpaquePointer, _ body: @escaping @MainActor (UInt32) -> Void
        ) {
            cafgtk_connect_number(
                UnsafeMutableRawPointer(widget), name,
                { _, number, handler in SignalHandler.call(handler, number) }, SignalHandler.retained(body),
                { handler, _ in SignalHandler.release(handler) })
        }

        /// Calls `body` each time when the user has turned animations on or off, until the widget is destroyed.
        static func onAnimationSetting(of widget: OpaquePointer, _ body: @escaping @MainActor () -> Void) {
            guard let settings = cafgtk_widget_settings(widget) else { return }
            let connection = Connection(
                UnsafeMutableRawPointer(settings),
                cafgtk_connect_notify(
                    UnsafeMutableRawPointer(settings), "notify::gtk-enable-animations",
                    { _, _, handler in SignalHandler.call(handler, 0) }, SignalHandler.retained { _ in body() },
                    { handler, _ in SignalHandler.release(handler) }))
            onDestroy(of: widget) { connection.end() }
        }
    }

    /// A connection to an object that outlives the widget it is for.
    @MainActor
    private final class Connection {
        /// Nil after the end.
        private var instance: UnsafeMutableRawPointer?
        private let id: UInt

        init(_ instance: UnsafeMutableRawPointer, _ id: UInt) {
            self.instance = cafgtk_ref(instance)
            self.id = id
        }

        /// Has no effect the second time: a widget may be destroyed twice.
        func end() {
            guard let instance else { return }
            self.instance = nil
            cafgtk_disconnect(instance, id)
            cafgtk_unref(instance)
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
