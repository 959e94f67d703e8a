#if GTK
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFGTK
    import SwiftAFImage

    /// A grid of pictures whose widgets are used again and again.
    @MainActor
    private final class Grid {
        static let count = 10_000
        let server: TestServer
        let cache = AutoPurgingImageCache(memoryCapacity: 1 << 20, preferredMemoryUsageAfterPurge: 512 << 10)
        let downloader: ImageDownloader
        let scrolled: OpaquePointer
        /// The pictures that show something now, with their numbers.
        private(set) var bound: [OpaquePointer: Int] = [:]

        init() throws {
            server = try TestServer()
            server.fallback(
                .handler { request, connection in
                    let number = Int(request.path.dropFirst()) ?? 0
                    let file = try Grid.colour(of: number).image(16, 16).data(as: .png)
                    try connection.run(.respond(headers: ["Content-Type": "image/png"], body: file))
                })
            downloader = ImageDownloader(imageCache: cache)
            scrolled = gtk_scrolled_window_new()
            let strings = gtk_string_list_new(nil)
            for number in 0..<Self.count { gtk_string_list_append(strings, "\(number)") }
            let factory = gtk_signal_list_item_factory_new()
            let context = Unmanaged.passUnretained(self).toOpaque()
            let calls: [(String, cgtk_item_call)] = [
                ("setup", { _, item, grid in Grid.at(grid, item) { $0.setUp($1) } }),
                ("bind", { _, item, grid in Grid.at(grid, item) { $0.bind($1) } }),
                ("unbind", { _, item, grid in Grid.at(grid, item) { $0.unbind($1) } }),
            ]
            for (signal, call) in calls { cgtk_connect_item(UnsafeMutableRawPointer(factory), signal, call, context) }
            let view = gtk_grid_view_new(gtk_no_selection_new(strings), factory)
            gtk_grid_view_set_min_columns(view, 5)
            gtk_grid_view_set_max_columns(view, 5)
            gtk_scrolled_window_set_child(scrolled, view)
        }

        nonisolated static func colour(of number: Int) -> Colour {
            Colour(
                red: UInt8(truncatingIfNeeded: number), green: UInt8(truncatingIfNeeded: number >> 8),
                blue: UInt8(truncatingIfNeeded: number &* 7))
        }

        private nonisolated static func at(
            _ grid: UnsafeMutableRawPointer?, _ item: OpaquePointer?, _ body: @MainActor (Grid, OpaquePointer) -> Void
        ) {
            guard let grid, let item else { return }
            let object = Unmanaged<Grid>.fromOpaque(grid).takeUnretainedValue()
            nonisolated(unsafe) let unsafeItem = item
            MainActor.assumeIsolated { body(object, unsafeItem) }
        }

        private func setUp(_ item: OpaquePointer) {
            let picture: OpaquePointer = gtk_picture_new()
            gtk_widget_set_size_request(picture, 64, 64)
            GTKPicture.of(picture).imageLoads.downloader = downloader
            gtk_list_item_set_child(item, picture)
        }

        private func bind(_ item: OpaquePointer) {
            guard let picture = gtk_list_item_get_child(item) else { return }
            let number = Int(gtk_list_item_get_position(item))
            bound[picture] = number
            GTKPicture.of(picture).setImage(with: server.urlString("/\(number)"))
        }

        private func unbind(_ item: OpaquePointer) {
            guard let picture = gtk_list_item_get_child(item) else { return }
            bound[picture] = nil
            GTKPicture.of(picture).setImage(with: nil)
        }

        /// Whether every picture shows its own image.
        var isRight: Bool { bound.allSatisfy { picture, number in Self.shown(by: picture) == Self.colour(of: number) } }

        /// Whether a picture shows the image of another row.
        var showsOthers: Bool {
            bound.contains { picture, number in
                Self.shown(by: picture).map { $0 != Self.colour(of: number) } ?? false
            }
        }

        private static func shown(by picture: OpaquePointer) -> Colour? {
            guard let texture = gtk_picture_get_paintable(picture) else { return nil }
            var bytes = [UInt8](repeating: 0, count: 16 * 16 * 4)
            gdk_texture_download(texture, &bytes, 16 * 4)
            return Colour(red: bytes[2], green: bytes[1], blue: bytes[0])
        }
    }

    @MainActor let gridTests = [
        TestCase("a grid that scrolls through 10,000 pictures shows each where it belongs, within the cache's limit") {
            let grid = try Grid()
            let window = try await Window(grid.scrolled, width: 400, height: 400)
            let adjustment = gtk_scrolled_window_get_vadjustment(grid.scrolled)
            var highest = 0
            var steps = 0
            var showsOthers = false
            while true {
                let value = gtk_adjustment_get_value(adjustment), page = gtk_adjustment_get_page_size(adjustment)
                guard value + page < gtk_adjustment_get_upper(adjustment) - 1 else { break }
                gtk_adjustment_set_value(adjustment, value + page)
                await Harness.pause(milliseconds: 5)
                showsOthers = showsOthers || grid.showsOthers
                highest = max(highest, grid.cache.memoryUsage)
                steps += 1
                if steps % 50 == 0 { try await Harness.until("every picture is right") { grid.isRight } }
            }
            try await Harness.until("every picture is right in the end") { grid.isRight }
            Harness.expect(grid.bound.values.contains(Grid.count - 1), "the last picture isn't bound")
            Harness.expect(!showsOthers, "a picture showed the image of another row")
            Harness.expect(highest <= 1 << 20, "\(highest) bytes in the cache")
            print("    \(steps) steps, \(grid.server.requests.count) requests, \(highest) bytes in the cache at most")
            window.close()
            // Its widgets call it until then.
            withExtendedLifetime(grid) {}
        }
    ]
#endif
