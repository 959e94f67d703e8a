import Testing

@testable import SwiftAF

@Suite struct SignalTests {
    @Test func keepsAValueThatCameBeforeTheWait() async {
        let channel = OneValueChannel<Int>()
        channel.send(1)
        #expect(await channel.wait() == 1)
    }

    @Test func keepsTheFirstValue() async {
        let channel = OneValueChannel<Int?>()
        channel.send(nil)
        channel.send(2)
        #expect(await channel.wait() == nil)
        channel.send(3)
        #expect(await channel.wait() == 3)
    }

    @Test func endsAWaitOfAnotherTask() async {
        for number in 0..<1000 {
            let channel = OneValueChannel<Int>()
            async let waited = channel.wait()
            Task { channel.send(number) }
            #expect(await waited == number)
        }
    }
}

@Suite struct RegistryTests {
    @Test func keepsTheOrderOfAdding() throws {
        var registry = Registry<String>()
        let ids = ["a", "b", "c"].compactMap { registry.add($0) }
        try #require(ids.count == 3)
        registry.remove(ids[1])
        registry.remove(ids[1])
        #expect(registry.all == ["a", "c"])
        let last = registry.add("d") ?? 0
        #expect(last > ids[2])
    }

    /// A session registers each request that is intercepted: they end in the order in which they began.
    @Test(.timeLimit(.minutes(1))) func removesFromManyElementsInConstantTime() {
        var registry = Registry<Int>()
        let ids = (0..<100_000).compactMap { registry.add($0) }
        for id in ids.dropLast() { registry.remove(id) }
        #expect(registry.all == [99_999])
    }

    @Test func takesNothingOnceClosed() {
        var registry = Registry<String>()
        _ = registry.add("a")
        let all = registry.close()
        #expect(all == ["a"])
        let id = registry.add("b")
        #expect(id == nil)
        let rest = registry.close()
        #expect(rest.isEmpty)
        #expect(registry.isEmpty)
    }
}
