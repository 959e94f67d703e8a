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
    public class GTKView: WidgetBound {
        /// The widget; nil after it was destroyed.
        public private(set) var widget: OpaquePointer?

        /// The pixels for each of GTK's units: 2 on a HiDPI screen. 1 after the widget was destroyed.
        public var scaleFactor: Int { widget.map { Int(cafgtk_widget_scale($0)) } ?? 1 }

        /// Returns the object of a widget; the same one at each call.
        ///
        /// - Parameter widget: A live widget of the kind that the class is named after; another kind stops the program.
        public static func of(_ widget: OpaquePointer) -> Self {
            let kind = kind(of: widget)
            // Ends: the class of a widget returns itself.
            if kind != self { return unsafeDowncast(kind.of(widget), to: Self.self) }
            return WidgetObjects.object(of: widget, type: type) { Self(widget) }
        }

        /// Returns the object of a widget; the same one at each call.
        public static func of<Instance>(_ widget: UnsafeMutablePointer<Instance>) -> Self {
            of(OpaquePointer(widget))
        }

        /// Returns the object of a widget; the same one at each call.
        public static func of(_ widget: UnsafeMutableRawPointer) -> Self {
            of(OpaquePointer(widget))
        }

        /// The class of a widget's object: this class or a subclass of it.
        class func kind(of widget: OpaquePointer) -> GTKView.Type { self }

        /// What the widget must be.
        class var type: cafgtk_type { cafgtk_widget_type() }

        required init(_ widget: OpaquePointer) {
            self.widget = widget
        }

        package func attach(to widget: OpaquePointer) {
            WidgetObjects.onDestroy(of: widget) { [weak self] in
                // While the widget still takes calls.
                self?.cancel()
                self?.widget = nil
            }
        }

        /// The widget is being destroyed: ends what was begun for it.
        func cancel() {}

        package final func forgetWidget() {
            // First: a widget at its very end takes no calls.
            widget = nil
            cancel()
        }
    }
#endif
