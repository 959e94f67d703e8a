import CGTK

/// Connects Swift closures to GTK's signals. The connection holds the closure, and goes with the instance.
@MainActor
enum Signals {
    static func connect(_ instance: OpaquePointer, _ signal: String, _ body: @escaping @MainActor () -> Void) {
        cgtk_connect(
            UnsafeMutableRawPointer(instance), signal, { _, handler in Handler.call(handler) },
            Handler.retained { _, _ in body() }, { handler, _ in Handler.release(handler) })
    }

    /// A signal with a number, such as a position.
    static func connectNumber(
        _ instance: OpaquePointer, _ signal: String, _ body: @escaping @MainActor (UInt32) -> Void
    ) {
        cgtk_connect_number(
            UnsafeMutableRawPointer(instance), signal, { _, number, handler in Handler.call(handler, number) },
            Handler.retained { number, _ in body(number) }, { handler, _ in Handler.release(handler) })
    }

    /// A signal of a factory, with a list item.
    static func connectItem(
        _ instance: OpaquePointer, _ signal: String, _ body: @escaping @MainActor (OpaquePointer) -> Void
    ) {
        cgtk_connect_item(
            UnsafeMutableRawPointer(instance), signal, { _, item, handler in Handler.call(handler, 0, item) },
            Handler.retained { _, item in
                if let item { body(item) }
            }, { handler, _ in Handler.release(handler) })
    }
}

private final class Handler: Sendable {
    typealias Body = @MainActor (UInt32, OpaquePointer?) -> Void
    private let body: Body

    private init(_ body: @escaping Body) {
        self.body = body
    }

    static func retained(_ body: @escaping Body) -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(Handler(body)).toOpaque()
    }

    static func call(_ handler: UnsafeMutableRawPointer?, _ number: UInt32 = 0, _ item: OpaquePointer? = nil) {
        guard let handler else { return }
        let object = Unmanaged<Handler>.fromOpaque(handler).takeUnretainedValue()
        // GTK calls on the first thread, which is the main actor's.
        nonisolated(unsafe) let item = item
        MainActor.assumeIsolated { object.body(number, item) }
    }

    static func release(_ handler: UnsafeMutableRawPointer?) {
        if let handler { Unmanaged<Handler>.fromOpaque(handler).release() }
    }
}
