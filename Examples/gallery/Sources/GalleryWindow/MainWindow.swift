import CGTK
import SwiftAF
import SwiftAFGTK
import SwiftAFImage

/// The window: a header bar, and under it the grid, a picture or the page about the gallery.
@MainActor
public final class MainWindow {
    /// The `GtkWindow`.
    public let window: OpaquePointer
    public let grid: PictureGrid
    public let library: Library
    private let server: PictureServer
    private let header = Header()
    private let banner = Banner()
    private let stack: OpaquePointer
    private let picturePage: PicturePage
    private let refresh: GTKRefresh
    #if WebKit
        private let aboutPage: AboutPage
    #endif

    /// Makes a window, which shows the catalogue as soon as it is there.
    public init(_ server: PictureServer) {
        self.server = server
        library = Library(url: server.url)
        grid = PictureGrid(library)
        picturePage = PicturePage(library)
        window = gtk_window_new()
        stack = gtk_stack_new()
        refresh = GTKRefresh.of(grid.scrolled)
        #if WebKit
            aboutPage = AboutPage(library)
            gtk_stack_add_named(stack, aboutPage.root, "about")
        #else
            gtk_widget_set_visible(header.about, 0)
        #endif
        gtk_stack_add_named(stack, grid.scrolled, "grid")
        gtk_stack_add_named(stack, picturePage.root, "picture")
        gtk_stack_set_transition_type(stack, Transition.crossfade)
        let content: OpaquePointer = gtk_box_new(Orientation.vertical, 0)
        for widget in [refresh.indicator, stack, banner.root] { gtk_box_append(content, widget) }
        gtk_window_set_title(window, "Gallery")
        gtk_window_set_default_size(window, 900, 640)
        gtk_window_set_titlebar(window, header.root)
        gtk_window_set_child(window, content)
        connect()
        goBack()
        refresh.refresh()
    }

    private func connect() {
        refresh.onRefresh = { [weak self] in self?.reload() }
        grid.onOpen = { [weak self] in self?.open($0) }
        grid.onFailure = { [weak self] in self?.banner.show(true) }
        Signals.connect(header.refresh, "clicked") { [weak self] in self?.refresh.refresh() }
        Signals.connect(banner.button, "clicked") { [weak self] in self?.refresh.refresh() }
        Signals.connect(header.back, "clicked") { [weak self] in self?.goBack() }
        Signals.connect(header.about, "clicked") { [weak self] in self?.showAbout() }
        Signals.connect(header.search, "search-changed") { [weak self] in self?.search() }
        Signals.connect(header.offline, "toggled") { [weak self] in self?.plug() }
        GTKSpinner.of(header.activity).setAnimating(with: NetworkActivityIndicatorManager.shared)
    }

    // MARK: What a person does

    /// Shows the pictures whose titles contain a text.
    public func search(for text: String) {
        gtk_editable_set_text(header.search, text)
    }

    /// Turns the server off, or on again.
    public func setOffline(_ isOffline: Bool) {
        gtk_toggle_button_set_active(header.offline, isOffline ? 1 : 0)
    }

    /// Loads the catalogue again, as a pull below the top does.
    public func pull() {
        refresh.refresh()
    }

    /// Shows the grid.
    public func goBack() {
        picturePage.cancel()
        show("grid")
    }

    /// Closes the window, and with it the program.
    public func close() {
        gtk_window_destroy(window)
    }

    /// Whether the window says that the server can't be reached.
    public var saysOffline: Bool { banner.isShown }

    /// Whether the catalogue is being loaded.
    public var isRefreshing: Bool { refresh.isRefreshing }

    /// Whether the large picture is there.
    public var isPictureComplete: Bool { picturePage.isComplete }

    /// Shows the page about the gallery, if the program was built with WebKit.
    public func showAbout() {
        #if WebKit
            aboutPage.show { [weak self] in self?.banner.show(true) }
            show("about")
        #endif
    }

    /// The title of the page about the gallery, when it is there.
    public var aboutTitle: String? {
        #if WebKit
            aboutPage.title
        #else
            nil
        #endif
    }

    // MARK: What follows

    private func reload() -> SessionTask {
        library.load { [weak self] titles in
            guard let self else { return }
            banner.show(titles == nil)
            if let titles { grid.show(titles) }
        }
    }

    private func open(_ picture: Picture) {
        picturePage.show(picture)
        show("picture")
    }

    private func search() {
        grid.search(String(cString: gtk_editable_get_text(header.search)))
        goBack()
    }

    private func plug() {
        server.isOnline = gtk_toggle_button_get_active(header.offline) == 0
    }

    private func show(_ page: String) {
        gtk_stack_set_visible_child_name(stack, page)
        gtk_widget_set_visible(header.back, page == "grid" ? 0 : 1)
    }
}
