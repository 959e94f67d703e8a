import CGTK
import GalleryWindow
import Glibc

/// One walk through the gallery.
@MainActor
final class Tour {
    private let window: MainWindow
    private let count: Int
    private let screenshots: String?
    private let measures, skipsWeb: Bool

    init(_ window: MainWindow, pictures count: Int, screenshots: String?, measures: Bool, skipsWeb: Bool) {
        self.window = window
        self.count = count
        self.screenshots = screenshots
        self.measures = measures
        self.skipsWeb = skipsWeb
    }

    func walk() async throws {
        try await until("the catalogue is there") { window.grid.foundCount == count }
        try await untilRight("the first pictures")
        try await save("gallery")
        try await scroll()
        try await search()
        try await open()
        try await goOffline()
        try await refresh()
        try await showAbout()
    }

    /// Scrolls to the end, page by page.
    private func scroll() async throws {
        let adjustment: OpaquePointer = gtk_scrolled_window_get_vadjustment(window.grid.scrolled)
        let times = measures ? FrameTimes(window.window) : nil
        var memory = Memory()
        var steps = 0, most = 0
        while true {
            let page = gtk_adjustment_get_page_size(adjustment), value = gtk_adjustment_get_value(adjustment)
            guard value + page < gtk_adjustment_get_upper(adjustment) - 1 else { break }
            gtk_adjustment_set_value(adjustment, value + page)
            try await Task.sleep(for: .milliseconds(16))
            most = max(most, window.library.cache.memoryUsage)
            steps += 1
            // Not at each: most tiles get other pictures while they wait for theirs.
            if steps % 10 == 0 {
                times?.pause()
                try await untilRight("the pictures at step \(steps)")
                memory.sample()
                times?.resume()
            }
        }
        try await untilRight("the last pictures")
        guard window.grid.shown.contains(where: { $0.picture.number == 1 }) else {
            throw Failure("the oldest is missing")
        }
        guard most <= window.library.cache.memoryCapacity else { throw Failure("\(most) bytes in the cache") }
        print("\(steps) pages; at most \(most >> 10) KiB in the cache; \(memory)")
        times?.report()
        gtk_adjustment_set_value(adjustment, 0)
    }

    private func search() async throws {
        window.search(for: "AMBER coast")
        try await until("the search has found some") { (1..<count / 2).contains(window.grid.foundCount) }
        try await untilRight("the pictures found")
        guard window.grid.shown.allSatisfy({ $0.picture.title.hasPrefix("Amber coast ") }) else {
            throw Failure("the search has found others")
        }
    }

    private func open() async throws {
        window.grid.open(0)
        try await until("the large picture is there") { window.isPictureComplete }
        try await save("gallery-picture")
        window.goBack()
    }

    /// Pictures that aren't in the cache can't be shown then.
    private func goOffline() async throws {
        window.setOffline(true)
        window.library.cache.removeAllImages()
        window.search(for: "Violet")
        try await until("the window says that it is offline") { window.saysOffline }
        try await save("gallery-offline")
        window.setOffline(false)
    }

    /// The next refresh brings the pictures that failed, and a new one.
    private func refresh() async throws {
        window.pull()
        try await until("the refresh has ended") { !window.isRefreshing && !window.saysOffline }
        window.search(for: "")
        try await until("there is a new picture") { window.grid.foundCount == count + 1 }
        try await untilRight("the pictures after the refresh")
    }

    private func showAbout() async throws {
        #if WebKit
            guard !skipsWeb else { return print("the page in WebKit is skipped") }
            window.showAbout()
            try await until("the page is there") { window.aboutTitle == "About the gallery" }
            window.goBack()
        #endif
    }

    // MARK: Looking

    private func untilRight(_ what: String) async throws {
        try await until("\(what) are right") {
            let shown = window.grid.shown
            return !shown.isEmpty && shown.allSatisfy { Appearance.isRight($0.picture, in: $0.widget) }
        }
    }

    private func until(_ what: String, _ isTrue: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while !isTrue() {
            guard ContinuousClock.now < end else { throw Failure("never: \(what)") }
            try await Task.sleep(for: .milliseconds(300))
        }
    }

    private func save(_ name: String) async throws {
        guard let screenshots else { return }
        // Transitions of GTK take a quarter of a second.
        try await Task.sleep(for: .milliseconds(600))
        guard Appearance.save(window.window, to: "\(screenshots)/\(name).png") else {
            throw Failure("no picture of the window in \(screenshots)/\(name).png")
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The memory of the process, as the kernel counts it.
private struct Memory: CustomStringConvertible {
    private var first = 0, most = 0, last = 0

    mutating func sample() {
        guard let file = fopen("/proc/self/statm", "r") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return }
        let fields = String(decoding: line.map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
        last = ((fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE))) >> 20
        first = first == 0 ? last : first
        most = max(most, last)
    }

    var description: String { "resident \(first) MiB at the tenth page, \(most) at most, \(last) in the end" }
}
