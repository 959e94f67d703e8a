#if GTK
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFGTK

    /// A server that answers at `open("answer")`, and the tasks for it.
    @MainActor
    struct Tasks {
        let server: TestServer
        let manager: HTTPSessionManager

        init() throws {
            server = try TestServer()
            manager = HTTPSessionManager(baseURL: server.urlString("/"), responseSerializer: DataResponseSerializer())
            server.route("/slow", [.stall(at: "answer"), .text("0123456789")])
            server.route("/quick", .text("0123456789"))
            server.route("POST /sent", .text("thanks"))
        }

        func task(_ path: String = "slow", body: Data? = nil) -> SessionTask {
            let request = body.map { HTTPRequest(.post, path, body: .data($0)) } ?? HTTPRequest(path)
            return manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, _ in }
        }
    }

    @MainActor
    private func release(_ widget: OpaquePointer) {
        g_object_unref(UnsafeMutableRawPointer(widget))
    }

    @MainActor
    private func held(_ widget: OpaquePointer?) -> OpaquePointer {
        OpaquePointer(g_object_ref_sink(UnsafeMutableRawPointer(widget)))
    }

    /// Binds a task to a widget that is destroyed at once, and lets the task change after that.
    @MainActor
    private func outlive(_ make: () -> OpaquePointer?, _ bind: (OpaquePointer, SessionTask) -> Void) async throws {
        let tasks = try Tasks()
        for step in 0..<3 {
            let widget = held(make())
            let task = tasks.task()
            bind(widget, task)
            release(widget)
            task.resume()
            if step == 1 { task.suspend() }
            if step == 2 { task.cancel() }
        }
        tasks.server.open("answer")
        let last = tasks.task()
        last.resume()
        try await Harness.until("the last task has ended") { last.state == .completed }
    }

    /// AFUIActivityIndicatorViewTests and AFUIRefreshControlTests of AFNetworking, and progress, which it doesn't test.
    @MainActor let taskTests = [
        TestCase("testTaskDid…DoesNotCauseCrashForAIVWithTask: a task outlives the spinner that shows it") {
            try await outlive({ gtk_spinner_new() }, { GTKSpinner.of($0).setAnimating(with: $1) })
        },
        TestCase("testTaskDid…DoesNotCauseCrashForUIRCWithTask: a task outlives the refresh control that shows it") {
            try await outlive({ gtk_scrolled_window_new() }, { GTKRefresh.of($0).setRefreshing(with: $1) })
        },
        TestCase("a task outlives the progress bar that shows it") {
            try await outlive(
                { gtk_progress_bar_new() },
                { GTKProgressBar.of($0).setProgressWithDownloadProgress(of: $1, animated: true) })
        },
        TestCase("a spinner spins while its task runs, and only then") {
            let tasks = try Tasks()
            let spinner = held(gtk_spinner_new())
            let task = tasks.task()
            GTKSpinner.of(spinner).setAnimating(with: task)
            Harness.expect(gtk_spinner_get_spinning(spinner), is: 0)
            task.resume()
            try await Harness.until("it spins") { gtk_spinner_get_spinning(spinner) == 1 }
            task.suspend()
            try await Harness.until("it rests") { gtk_spinner_get_spinning(spinner) == 0 }
            task.resume()
            try await Harness.until("it spins again") { gtk_spinner_get_spinning(spinner) == 1 }
            tasks.server.open("answer")
            try await Harness.until("it has ended") { gtk_spinner_get_spinning(spinner) == 0 }
            release(spinner)
        },
        TestCase("a spinner shows the activity of all tasks") {
            let tasks = try Tasks()
            let spinner = held(gtk_spinner_new())
            let activity = NetworkActivityIndicatorManager()
            activity.activationDelay = .zero
            activity.completionDelay = .zero
            GTKSpinner.of(spinner).setAnimating(with: activity)
            tasks.task().resume()
            tasks.task().resume()
            try await Harness.until("it spins") { gtk_spinner_get_spinning(spinner) == 1 }
            tasks.server.open("answer")
            try await Harness.until("it rests") { gtk_spinner_get_spinning(spinner) == 0 }
            release(spinner)
        },
        TestCase("several spinners show the same activity, and one that ends leaves the others") {
            let tasks = try Tasks()
            let spinners = [held(gtk_spinner_new()), held(gtk_spinner_new()), held(gtk_spinner_new())]
            let activity = NetworkActivityIndicatorManager()
            activity.activationDelay = .zero
            activity.completionDelay = .zero
            func spinning() -> [Int32] { spinners.prefix(2).map { gtk_spinner_get_spinning($0) } }
            for spinner in spinners { GTKSpinner.of(spinner).setAnimating(with: activity) }
            GTKSpinner.of(spinners[0]).setAnimating(with: activity)
            release(spinners[2])
            tasks.task().resume()
            try await Harness.until("both spin") { spinning() == [1, 1] }
            tasks.server.open("answer")
            try await Harness.until("both rest") { spinning() == [0, 0] }
            for spinner in spinners.prefix(2) { release(spinner) }
        },
        TestCase("a spinner that a task is bound to shows no other activity any more") {
            let tasks = try Tasks()
            let spinner = held(gtk_spinner_new())
            let activity = NetworkActivityIndicatorManager()
            let view = GTKSpinner.of(spinner)
            view.setAnimating(with: activity)
            let handler = activity.visibilityHandler
            /// Lets the handler's work come to the main actor.
            func tell(_ isVisible: Bool) async {
                handler?(isVisible)
                for _ in 0..<10 { await Harness.pause() }
            }
            await tell(true)
            Harness.expect(gtk_spinner_get_spinning(spinner), is: 1)
            // Without a task it would spin for ever.
            view.setAnimating(with: nil as SessionTask?)
            Harness.expect(gtk_spinner_get_spinning(spinner), is: 0)
            let task = tasks.task()
            view.setAnimating(with: task)
            await tell(true)
            Harness.expect(gtk_spinner_get_spinning(spinner), is: 0)
            task.resume()
            try await Harness.until("it spins") { gtk_spinner_get_spinning(spinner) == 1 }
            await tell(false)
            Harness.expect(gtk_spinner_get_spinning(spinner), is: 1)
            tasks.server.open("answer")
            try await Harness.until("it rests") { gtk_spinner_get_spinning(spinner) == 0 }
            release(spinner)
        },
        TestCase("a pull below the top refreshes once, until the task ends") {
            let tasks = try Tasks()
            let scrolled = held(gtk_scrolled_window_new())
            let refresh = GTKRefresh.of(scrolled)
            var pulls = 0
            refresh.onRefresh = {
                pulls += 1
                let task = tasks.task()
                task.resume()
                return task
            }
            // GTK_POS_BOTTOM, then twice GTK_POS_TOP.
            for edge: UInt32 in [3, 2, 2] {
                cgtk_emit_number(UnsafeMutableRawPointer(scrolled), "edge-overshot", edge)
            }
            Harness.expect(pulls, is: 1)
            Harness.expect(gtk_revealer_get_reveal_child(refresh.indicator), is: 1)
            tasks.server.open("answer")
            try await Harness.until("it ends") { !refresh.isRefreshing }
            Harness.expect(gtk_revealer_get_reveal_child(refresh.indicator), is: 0)
            release(scrolled)
        },
        TestCase("a widget that was destroyed shows no activity") {
            let tasks = try Tasks()
            let spinner = held(gtk_spinner_new()), scrolled = held(gtk_scrolled_window_new())
            let view = GTKSpinner.of(spinner), refresh = GTKRefresh.of(scrolled)
            refresh.beginRefreshing()
            release(spinner)
            release(scrolled)
            Harness.expect(!refresh.isRefreshing)
            let activity = NetworkActivityIndicatorManager()
            view.setAnimating(with: activity)
            Harness.expect(!activity.isEnabled && activity.visibilityHandler == nil)
            let task = tasks.task()
            task.resume()
            var pulls = 0
            refresh.onRefresh = {
                pulls += 1
                return task
            }
            refresh.refresh()
            refresh.beginRefreshing()
            refresh.setRefreshing(with: task)
            Harness.expect(pulls, is: 0)
            Harness.expect(!refresh.isRefreshing)
            Harness.expect(gtk_revealer_get_reveal_child(refresh.indicator), is: 0)
            task.cancel()
        },
        TestCase("a movement of a bar that a handler begins at the end of another one goes on") {
            let bar: OpaquePointer = gtk_progress_bar_new()
            let window = try await Window(bar)
            let view = GTKProgressBar.of(bar)
            var isFull = false
            _ = PropertyHandler("fraction", of: bar) { [weak view] in
                guard !isFull, gtk_progress_bar_get_fraction(bar) == 1 else { return }
                isFull = true
                view?.setProgress(0, animated: false)
                view?.setProgress(0.5, animated: true)
            }
            view.setProgress(1, animated: true)
            try await Harness.until("the second movement has ended") {
                isFull && gtk_progress_bar_get_fraction(bar) == 0.5
            }
            window.close()
        },
        TestCase("a refresh control works without its indicator, which was destroyed") {
            let scrolled = held(gtk_scrolled_window_new())
            let refresh = GTKRefresh.of(scrolled)
            g_object_run_dispose(refresh.indicator)
            refresh.beginRefreshing()
            Harness.expect(refresh.isRefreshing)
            refresh.endRefreshing()
            release(scrolled)
        },
        TestCase("a progress bar shows what was downloaded, and what was uploaded") {
            let tasks = try Tasks()
            for isUpload in [false, true] {
                let bar = held(gtk_progress_bar_new())
                let view = GTKProgressBar.of(bar)
                let task = isUpload ? tasks.task("sent", body: Data(count: 1 << 20)) : tasks.task("quick")
                if isUpload {
                    view.setProgressWithUploadProgress(of: task, animated: false)
                } else {
                    view.setProgressWithDownloadProgress(of: task, animated: false)
                }
                task.resume()
                try await Harness.until("all is there") { gtk_progress_bar_get_fraction(bar) == 1 }
                release(bar)
            }
        },
        TestCase("a progress bar on the screen moves to its new place, and is there at once when it is hidden") {
            let bar: OpaquePointer = gtk_progress_bar_new()
            let window = try await Window(bar)
            let view = GTKProgressBar.of(bar)
            var between = false
            // Where frames are rare, all of a movement may lie between two of them.
            for _ in 0..<50 where !between {
                view.setProgress(0, animated: false)
                view.setProgress(1, animated: true)
                Harness.expect(gtk_progress_bar_get_fraction(bar), is: 0)
                try await Harness.until("it has arrived") {
                    let fraction = gtk_progress_bar_get_fraction(bar)
                    between = between || fraction > 0 && fraction < 1
                    return fraction == 1
                }
            }
            Harness.expect(between, "it jumped")
            view.setProgress(0.25, animated: true)
            gtk_widget_set_visible(bar, 0)
            Harness.expect(gtk_progress_bar_get_fraction(bar), is: 0.25)
            gtk_widget_set_visible(bar, 1)
            view.setProgress(0.5, animated: true)
            window.close()
        },
        TestCase("spinner, refresh and progress end with 10,000 tasks that are bound, bound again and released") {
            let tasks = try Tasks()
            let spinner = held(gtk_spinner_new())
            let scrolled = held(gtk_scrolled_window_new())
            // On the screen, where it moves.
            let bar: OpaquePointer = gtk_progress_bar_new()
            let window = try await Window(bar)
            weak let spinnerView = GTKSpinner.of(spinner)
            weak let refresh = GTKRefresh.of(scrolled)
            weak let barView = GTKProgressBar.of(bar)
            var random = SystemRandomNumberGenerator()
            for round in 0..<100 {
                var all: [SessionTask] = []
                for number in 0..<100 {
                    let task = tasks.task("quick")
                    // The last one is bound before it runs, and not cancelled, so that the bar must show its end.
                    let choice =
                        number == 99 ? Int.random(in: 1...2, using: &random) : .random(in: 0..<4, using: &random)
                    if choice == 0 { task.resume() }
                    spinnerView?.setAnimating(with: task)
                    refresh?.setRefreshing(with: task)
                    barView?.setProgressWithDownloadProgress(of: task, animated: choice == 1)
                    if choice != 3 { task.resume() } else { task.cancel() }
                    if choice == 2 {
                        spinnerView?.setAnimating(with: nil as SessionTask?)
                        let short = [
                            held(gtk_spinner_new()), held(gtk_scrolled_window_new()), held(gtk_progress_bar_new()),
                        ]
                        GTKSpinner.of(short[0]).setAnimating(with: task)
                        GTKRefresh.of(short[1]).setRefreshing(with: task)
                        GTKProgressBar.of(short[2]).setProgressWithDownloadProgress(of: task, animated: true)
                        for widget in short { release(widget) }
                    }
                    all.append(task)
                }
                try await Harness.until("round \(round) has ended") {
                    all.allSatisfy { $0.state == .completed } && refresh?.isRefreshing == false
                        && gtk_spinner_get_spinning(spinner) == 0 && gtk_progress_bar_get_fraction(bar) == 1
                }
                barView?.setProgress(0, animated: false)
            }
            release(spinner)
            release(scrolled)
            window.close()
            try await Harness.until("their objects have gone") {
                spinnerView == nil && refresh == nil && barView == nil
            }
        },
    ]
#endif
