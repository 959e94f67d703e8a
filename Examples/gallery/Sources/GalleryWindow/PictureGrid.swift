import CGTK
import SwiftAFGTK

/// The grid: the titles of the catalogue, those that the search finds, and a tile for each that is on the screen.
@MainActor
public final class PictureGrid {
    /// The `GtkScrolledWindow` around it.
    public let scrolled: OpaquePointer
    private let library: Library
    private let titles, filter, found: OpaquePointer
    private let prefetcher: Prefetcher
    private var count = 0
    /// By their roots.
    private var tiles: [OpaquePointer: Tile] = [:]
    /// The list items of the tiles that are in use. They are asked for their positions, which change without another
    /// "bind" when the search finds more or less before them.
    private var items: [OpaquePointer: OpaquePointer] = [:]
    /// Called with the picture that was clicked.
    var onOpen: (@MainActor (Picture) -> Void)?
    /// Called when a picture can't be loaded.
    var onFailure: (@MainActor () -> Void)?

    init(_ library: Library) {
        self.library = library
        prefetcher = Prefetcher(library)
        titles = gtk_string_list_new(nil)
        let title = gtk_property_expression_new(gtk_string_object_get_type(), nil, "string")
        filter = gtk_string_filter_new(title)
        found = gtk_filter_list_model_new(titles, filter)
        let factory: OpaquePointer = gtk_signal_list_item_factory_new()
        let view: OpaquePointer = gtk_grid_view_new(gtk_no_selection_new(found), factory)
        scrolled = gtk_scrolled_window_new()
        gtk_grid_view_set_min_columns(view, 2)
        gtk_grid_view_set_max_columns(view, 5)
        gtk_grid_view_set_single_click_activate(view, 1)
        gtk_scrolled_window_set_child(scrolled, view)
        gtk_widget_set_vexpand(scrolled, 1)
        Signals.connectItem(factory, "setup") { [weak self] in self?.setUp($0) }
        Signals.connectItem(factory, "bind") { [weak self] in self?.bind($0) }
        Signals.connectItem(factory, "unbind") { [weak self] in self?.unbind($0) }
        Signals.connectItem(factory, "teardown") { [weak self] in self?.tearDown($0) }
        Signals.connectNumber(view, "activate") { [weak self] in self?.open(Int($0)) }
        let adjustment: OpaquePointer = gtk_scrolled_window_get_vadjustment(scrolled)
        Signals.connect(adjustment, "value-changed") { [weak self] in self?.prefetch() }
    }

    /// The number of pictures that the search finds.
    public var foundCount: Int { Int(g_list_model_get_n_items(found)) }

    /// The pictures in use and the `GtkPicture`s that show them: those on the screen, and rows around it.
    public var shown: [(widget: OpaquePointer, picture: Picture)] {
        items.keys.compactMap { tiles[$0] }.compactMap { tile in tile.shown.map { (tile.picture, $0) } }
    }

    /// Replaces the catalogue.
    func show(_ new: [String]) {
        prefetcher.cancel()
        withCStrings(new) { gtk_string_list_splice(titles, 0, UInt32(count), $0) }
        count = new.count
    }

    /// Finds the pictures whose titles contain a text.
    func search(_ text: String) {
        prefetcher.cancel()
        gtk_string_filter_set_search(filter, text)
    }

    /// Loads what failed to load.
    func retry() {
        for tile in tiles.values { tile.retry() }
    }

    /// Opens the picture at a position among those found.
    public func open(_ position: Int) {
        if let picture = picture(at: position) { onOpen?(picture) }
    }

    private func picture(at position: Int) -> Picture? {
        guard let item = g_list_model_get_item(found, UInt32(clamping: position)) else { return nil }
        defer { g_object_unref(item) }
        return library.pictures[String(cString: gtk_string_object_get_string(OpaquePointer(item)))]
    }

    private func prefetch() {
        // An item that has left the list has the largest number instead of a position.
        let positions = items.values.map { Int(gtk_list_item_get_position($0)) }.filter { $0 < foundCount }
        guard let first = positions.min(), let last = positions.max() else { return }
        prefetcher.moved(to: first...last, of: foundCount, scale: GTKRefresh.of(scrolled).scaleFactor) {
            picture(at: $0)
        }
    }

    // MARK: Tiles

    private func setUp(_ item: OpaquePointer) {
        let tile = Tile(library) { [weak self] in self?.onFailure?() }
        tiles[tile.root] = tile
        gtk_list_item_set_child(item, tile.root)
    }

    private func bind(_ item: OpaquePointer) {
        guard let root = gtk_list_item_get_child(item) else { return }
        items[root] = item
        if let picture = picture(at: Int(gtk_list_item_get_position(item))) { tiles[root]?.show(picture) }
    }

    private func unbind(_ item: OpaquePointer) {
        guard let root = gtk_list_item_get_child(item) else { return }
        items[root] = nil
        tiles[root]?.clear()
    }

    private func tearDown(_ item: OpaquePointer) {
        guard let root = gtk_list_item_get_child(item) else { return }
        tiles[root] = nil
        gtk_list_item_set_child(item, nil)
    }
}

/// Calls `body` with an array of C strings that ends with NULL.
private func withCStrings(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Void) {
    var text: [CChar] = []
    let starts = strings.map { string in
        defer { text += string.utf8CString }
        return text.count
    }
    text.withUnsafeBufferPointer { text in
        let pointers = starts.map { start in text.baseAddress.map { $0 + start } } + [nil]
        pointers.withUnsafeBufferPointer { pointers in
            if let base = pointers.baseAddress { body(base) }
        }
    }
}
