import SwiftAF

/// Several transfers, run concurrently with a limit. A failure doesn't stop the others; cancelling the task stops all.
struct Batch {
    private static let atOnce = 4

    let runs: [RequestRun]
    let options: Options
    let console: Console

    /// Runs the transfers and returns their outcomes in order.
    func run() async -> [Outcome] {
        // With `-v`, header lines and progress bars would overwrite each other.
        guard console.canShowProgress, options.messages >= .progress, !options.isVerbose else {
            return await transfer(nil)
        }
        let display = ProgressDisplay(sink: console.error)
        console.notes.write = display.write
        defer { console.notes.write = nil }
        return await display.accompany { await transfer(display) }
    }

    private func transfer(_ display: ProgressDisplay?) async -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var outcomes: [Outcome?] = Array(repeating: nil, count: runs.count)
            for index in runs.indices {
                if index >= Self.atOnce, let (ended, outcome) = await group.next() { outcomes[ended] = outcome }
                group.addTask { (index, await run(index, display)) }
            }
            for await (ended, outcome) in group { outcomes[ended] = outcome }
            return outcomes.compactMap { $0 }
        }
    }

    private func run(_ index: Int, _ display: ProgressDisplay?) async -> Outcome {
        var run = runs[index]
        display?.begin(index, run.name)
        run.progressViewer = .batch { display?.note($0, of: index) }
        let outcome = await run.run()
        display?.end(index, summary(of: outcome))
        return outcome
    }

    private func summary(of outcome: Outcome) -> String {
        if let failure = outcome.failure { return failure.code.name }
        return Format.bytes(Int64(outcome.transfer?.bodyBytes ?? 0))
    }
}

extension RequestRun {
    /// The short name of the transfer in messages.
    fileprivate var name: String {
        let name = (try? FileName.of(url: request.url)) ?? URLText(request.url).withoutUserInfo
        return String(name.printable.suffix(columns: 30))
    }
}
