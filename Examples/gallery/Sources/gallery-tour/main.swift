// Uses the gallery as a person does, and ends with status 1 if it shows anything wrong.
//
//     swift run gallery-tour [--pictures NUMBER] [--screenshots FOLDER] [--times] [--without-web]
//
// --pictures     how many pictures the server has; the tour scrolls through all of them (default: 400)
// --screenshots  writes pictures of the window there
// --times        prints how long the turns of the main loop and GTK's frames took while it scrolled
// --without-web  leaves out the page in WebKit, whose processes need a sandbox
import GalleryWindow
import Glibc

func value(of option: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: option).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
}

let count = value(of: "--pictures").flatMap { Int($0) } ?? 400
let status = try Application.run(pictures: count) { window in
    let tour = Tour(
        window, pictures: count, screenshots: value(of: "--screenshots"),
        measures: CommandLine.arguments.contains("--times"),
        skipsWeb: CommandLine.arguments.contains("--without-web"))
    Task { @MainActor in
        do {
            try await tour.walk()
            print("the tour is complete")
        } catch {
            print("the tour failed: \(error)")
            exit(1)
        }
        window.close()
    }
}
exit(status)
