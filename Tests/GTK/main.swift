#if GTK
    import CGTKBinding
    import Glibc
    import SwiftAFGTK

    // GTKTests [--misuse NAME] [--rounds N] [--filter TEXT] [--scale N] [--without-web]
    let arguments = CommandLine.arguments
    func option(_ name: String) -> String? {
        arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
    }
    let rounds = option("--rounds").flatMap(Int.init) ?? 1
    let filter = option("--filter") ?? ""
    var tests = mainLoopTests + imageTests + previewTests + animationTests + gridTests + taskTests + misuseTests
    #if WebKit
        // WebKit's processes need a sandbox, which containers may refuse.
        if arguments.contains("--without-web") {
            print("the tests of web views are skipped")
        } else {
            tests += webTests
        }
    #endif
    tests = tests.filter { filter.isEmpty || $0.name.contains(filter) }

    guard gtk_init_check() != 0 else {
        print("GTKTests: there is no display; Scripts/checks/gtk runs this with Xvfb")
        exit(1)
    }
    if let misuse = option("--misuse").flatMap({ Misuse(rawValue: $0) }) {
        misuse.commit()
        exit(0)
    }
    try MainActorInGLib.install()
    let loop = g_main_loop_new(nil, 0)
    var hasPassed = false
    Task { @MainActor in
        hasPassed = await Harness.run(tests, rounds: rounds)
        g_main_loop_quit(loop)
    }
    g_main_loop_run(loop)
    exit(hasPassed && !tests.isEmpty ? 0 : 1)
#else
    print("GTKTests: skipped, as the package was built without the trait GTK")
#endif
