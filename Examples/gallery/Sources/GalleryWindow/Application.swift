import CGTK
import SwiftAF
import SwiftAFGTK

/// The program: GTK's application, whose main loop also runs the main actor.
@MainActor
public enum Application {
    /// Runs until the window is closed.
    ///
    /// - Parameters:
    ///   - count: The number of pictures that the server has.
    ///   - body: Called with the window when it is on its way to the screen.
    /// - Returns: The exit status.
    public static func run(pictures count: Int, _ body: @escaping @MainActor (MainWindow) -> Void = { _ in }) throws
        -> Int32
    {
        try MainActorInGLib.install()
        let server = try PictureServer(count: count)
        var window: MainWindow?
        let application: OpaquePointer = gtk_application_new("org.example.Gallery", ApplicationFlags.nonUnique)
        defer { g_object_unref(UnsafeMutableRawPointer(application)) }
        Signals.connect(application, "activate") {
            let made = MainWindow(server)
            window = made
            // Its widgets go, and with it whatever would still use them. The main loop may run once more.
            Signals.connect(made.window, "destroy") { window = nil }
            gtk_application_add_window(application, made.window)
            gtk_window_present(made.window)
            body(made)
        }
        let status = g_application_run(application, 0, nil)
        withExtendedLifetime(window) {}
        return status
    }
}
