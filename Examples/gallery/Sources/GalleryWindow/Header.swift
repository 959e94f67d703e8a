import CGTK

/// The header bar: back, search, activity, and buttons.
@MainActor
final class Header {
    let root: OpaquePointer = gtk_header_bar_new()
    let search: OpaquePointer = gtk_search_entry_new()
    let activity: OpaquePointer = gtk_spinner_new()
    let back: OpaquePointer = gtk_button_new_from_icon_name("go-previous-symbolic")
    let refresh: OpaquePointer = gtk_button_new_from_icon_name("view-refresh-symbolic")
    let about: OpaquePointer = gtk_button_new_from_icon_name("help-about-symbolic")
    let offline: OpaquePointer = gtk_toggle_button_new()

    init() {
        gtk_button_set_icon_name(offline, "network-offline-symbolic")
        gtk_widget_set_size_request(search, 320, -1)
        gtk_header_bar_set_title_widget(root, search)
        gtk_header_bar_pack_start(root, back)
        for widget in [about, offline, refresh, activity] { gtk_header_bar_pack_end(root, widget) }
        for (widget, text) in [
            (back, "Back"), (refresh, "Reload"), (about, "About the gallery"), (offline, "Unplug the server"),
        ] { gtk_widget_set_tooltip_text(widget, text) }
    }
}

/// Says at the bottom that the server can't be reached.
@MainActor
final class Banner {
    let root: OpaquePointer = gtk_revealer_new()
    let button: OpaquePointer = gtk_button_new_with_label("Try again")

    init() {
        let row: OpaquePointer = gtk_box_new(Orientation.horizontal, 12)
        let label: OpaquePointer = gtk_label_new("The server can't be reached.")
        gtk_widget_set_hexpand(label, 1)
        for margin in [
            gtk_widget_set_margin_start, gtk_widget_set_margin_end, gtk_widget_set_margin_top,
            gtk_widget_set_margin_bottom,
        ] { margin(row, 8) }
        gtk_box_append(row, label)
        gtk_box_append(row, button)
        gtk_revealer_set_child(root, row)
    }

    var isShown: Bool { gtk_revealer_get_reveal_child(root) != 0 }

    func show(_ isShown: Bool) {
        gtk_revealer_set_reveal_child(root, isShown ? 1 : 0)
    }
}
