import Testing

@testable import SwiftAF

/// The four states, with a clock that the test moves.
@Suite struct NetworkActivityStateTests {
    /// Does what the state asks for.
    private struct Indicator {
        var state = NetworkActivityState()
        var now = Duration.zero
        var log: [String] = []
        private var alarms: [(number: Int, due: Duration)] = []

        init(isEnabled: Bool = true) {
            perform { $0.setEnabled(isEnabled) }
        }

        mutating func perform(_ change: (inout NetworkActivityState) -> [NetworkActivityState.Action]) {
            for action in change(&state) {
                switch action {
                case .show: log.append("show \(now.milliseconds)")
                case .hide: log.append("hide \(now.milliseconds)")
                case .wake(let number, let delay): alarms.append((number, now + delay))
                }
            }
        }

        mutating func start(_ id: UInt64) {
            perform { $0.set(.task(id), isRunning: true) }
        }

        mutating func end(_ id: UInt64) {
            perform { $0.set(.task(id), isRunning: false) }
        }

        mutating func pass(_ milliseconds: Int) {
            let end = now + .milliseconds(milliseconds)
            while let next = alarms.min(by: { $0.due < $1.due }), next.due <= end {
                alarms.removeAll { $0.number == next.number }
                now = next.due
                perform { $0.wake(next.number) }
            }
            now = end
        }
    }

    @Test func ignoresReportsOfACompletedTaskThatComeLate() {
        var state = NetworkActivityState()
        _ = state.update(1, to: .completed)
        _ = state.update(1, to: .completed, isCounted: true)
        #expect(state.count == 0 && state.isCounted(1) == nil)
        _ = state.update(2, to: .running, isCounted: true)
        #expect(state.count == 1 && state.isCounted(2) == true)
        _ = state.update(2, to: .running, isCounted: false)
        #expect(state.count == 1)
        _ = state.update(2, to: .completed)
        #expect(state.count == 0 && state.isCounted(2) == nil)
    }

    @Test func delaysAreAFNetworkings() {
        let state = NetworkActivityState()
        #expect(state.activationDelay == .seconds(1))
        #expect(state.completionDelay == .milliseconds(170))
        #expect(!state.isEnabled)
        #expect(state.phase == .inactive)
    }

    @Test func visibilityDelaysAreApplied() {
        var indicator = Indicator()
        indicator.start(1)
        #expect(indicator.state.phase == .delayingStart)
        indicator.pass(999)
        #expect(indicator.log.isEmpty)
        indicator.pass(1)
        #expect(indicator.log == ["show 1000"])
        #expect(indicator.state.isVisible)
        indicator.pass(1000)
        indicator.end(1)
        #expect(indicator.state.phase == .delayingEnd)
        #expect(indicator.state.isVisible)
        indicator.pass(1000)
        #expect(indicator.log == ["show 1000", "hide 2170"])
        #expect(indicator.state.phase == .inactive)
    }

    @Test func whatIsOverSoonIsNeverShown() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.pass(500)
        indicator.end(1)
        #expect(indicator.state.phase == .delayingStart)
        indicator.pass(5000)
        #expect(indicator.log.isEmpty)
        #expect(indicator.state.phase == .inactive)
    }

    /// The delay counts from the first request, whatever happens meanwhile.
    @Test func changesWhileTheStartIsDelayedAreLookedAtWhenItIsOver() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.pass(300)
        indicator.end(1)
        indicator.pass(300)
        indicator.start(2)
        indicator.pass(400)
        #expect(indicator.log == ["show 1000"])
    }

    @Test func requestsThatOverlapAreShownAndHiddenOnce() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.pass(600)
        indicator.start(2)
        indicator.pass(1000)
        indicator.end(1)
        indicator.pass(1000)
        indicator.end(2)
        indicator.pass(1000)
        #expect(indicator.log == ["show 1000", "hide 2770"])
    }

    @Test func requestsThatFollowEachOtherDoNotFlicker() {
        var indicator = Indicator()
        for id in 1...5 as ClosedRange<UInt64> {
            indicator.start(id)
            indicator.pass(1200)
            indicator.end(id)
            indicator.pass(160)
        }
        #expect(indicator.log == ["show 1000"])
        // The alarms of delays that were cut short mean nothing.
        indicator.pass(1000)
        #expect(indicator.log == ["show 1000", "hide 6810"])
    }

    @Test func suspendingCountsAsEndingAndOnlyOnce() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.start(2)
        indicator.pass(1000)
        // Suspended, then cancelled.
        indicator.end(1)
        indicator.end(1)
        // Cancelled before it ever ran.
        indicator.end(3)
        indicator.pass(1000)
        #expect(indicator.state.count == 1)
        #expect(indicator.log == ["show 1000"])
    }

    @Test func resumingTwiceCountsOnce() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.start(1)
        indicator.end(1)
        #expect(indicator.state.count == 0)
    }

    @Test func numbersOfTasksAndOfOtherTransfersAreApart() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.perform { $0.set(.other(1), isRunning: true) }
        #expect(indicator.state.count == 2)
        indicator.end(1)
        #expect(indicator.state.count == 1)
    }

    @Test func theProgramsOwnCountIsNeverBelowZero() {
        var indicator = Indicator()
        indicator.perform { $0.add(-1) }
        #expect(indicator.state.count == 0)
        indicator.perform { $0.add(1) }
        indicator.start(1)
        #expect(indicator.state.count == 2)
        indicator.perform { $0.add(-1) }
        indicator.perform { $0.add(-1) }
        #expect(indicator.state.count == 1)
    }

    @Test func disablingHidesAtOnceAndKeepsCounting() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.pass(1500)
        indicator.perform { $0.setEnabled(false) }
        #expect(indicator.log == ["show 1000", "hide 1500"])
        indicator.start(2)
        #expect(indicator.state.count == 2)
        indicator.pass(5000)
        #expect(indicator.state.phase == .inactive)
        // What is under way is shown when it is enabled again.
        indicator.perform { $0.setEnabled(true) }
        indicator.pass(5000)
        #expect(indicator.log == ["show 1000", "hide 1500", "show 7500"])
    }

    @Test func disablingDuringADelayForgetsIt() {
        var indicator = Indicator()
        indicator.start(1)
        indicator.pass(900)
        indicator.perform { $0.setEnabled(false) }
        indicator.perform { $0.setEnabled(true) }
        indicator.pass(900)
        #expect(indicator.log.isEmpty)
        indicator.pass(100)
        #expect(indicator.log == ["show 1900"])
    }

    @Test func disabledNothingIsEverShown() {
        var indicator = Indicator(isEnabled: false)
        indicator.start(1)
        indicator.pass(5000)
        indicator.end(1)
        indicator.pass(5000)
        #expect(indicator.log.isEmpty)
    }

    /// Whatever happens, it is shown and hidden by turns, and not as long as nothing happens.
    @Test func anyOrderOfEventsEndsHidden() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var indicator = Indicator()
            for _ in 0..<60 {
                let id = UInt64.random(in: 1...3, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: indicator.start(id)
                case 1: indicator.end(id)
                case 2: indicator.perform { $0.setEnabled(Bool.random(using: &random)) }
                default: indicator.pass(Int.random(in: 0...1200, using: &random))
                }
            }
            for id in 1...3 as ClosedRange<UInt64> { indicator.end(id) }
            indicator.pass(2000)
            #expect(indicator.state.phase == .inactive)
            #expect(indicator.log.count % 2 == 0)
            for (index, entry) in indicator.log.enumerated() {
                #expect(entry.hasPrefix(index % 2 == 0 ? "show" : "hide"))
            }
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
