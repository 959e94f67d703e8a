import SwiftAF

/// Several transfers, some at once. Those that fail don't stop the others; a cancelled task ends all early.
struct Batch {
    private static let atOnce = 4

    let exchanges: [Exchange]
    let options: Options
    let console: Console

    /// What each came to, in their order.
    func run() async -> [Outcome] {
        // Head lines and bars would overwrite each other.
        guard console.error.isTerminal, !options.isQuiet, !options.isVerbose else { return await transfer(nil) }
        let display = ProgressDisplay(sink: console.error)
        return await display.accompany { await transfer(display) }
    }

    private func transfer(_ display: ProgressDisplay?) async -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var outcomes: [Outcome?] = Array(repeating: nil, count: exchanges.count)
            for index in exchanges.indices {
                if index >= Self.atOnce, let (ended, outcome) = await group.next() { outcomes[ended] = outcome }
                group.addTask { (index, await run(index, display)) }
            }
            for await (ended, outcome) in group { outcomes[ended] = outcome }
            return outcomes.compactMap { $0 }
        }
    }

    private func run(_ index: Int, _ display: ProgressDisplay?) async -> Outcome {
        var exchange = exchanges[index]
        display?.begin(index, exchange.name)
        exchange.watcher = { display?.note($0, of: index) }
        let outcome = await exchange.run()
        display?.end(index, summary(of: outcome))
        return outcome
    }

    private func summary(of outcome: Outcome) -> String {
        if let failure = outcome.failure { return failure.code }
        return Format.bytes(Int64(outcome.bodyBytes ?? 0))
    }
}

extension Exchange {
    /// What a person knows it by.
    fileprivate var name: String {
        let name = (try? FileName.of(url: request.url)) ?? URLText(request.url).withoutUserInfo
        return String(name.printable.suffix(30))
    }
}
