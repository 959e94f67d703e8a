import Testing

@testable import SwiftAF

/// The phase of a task whose spec and work are texts.
private typealias Phase = SessionTaskPhase<String, String>

extension Phase.Action {
    fileprivate var text: String {
        switch self {
        case .nothing: "nothing"
        case .begin(let work): "begin \(work)"
        case .completeCancelled(let spec): "complete \(spec)"
        case .suspend(let work): "suspend \(work)"
        case .resume(let work): "resume \(work)"
        case .cancel(let work): "cancel \(work)"
        }
    }
}

extension Phase {
    fileprivate mutating func resume() -> String { resume { "work of \($0)" }.text }
    fileprivate mutating func suspend() -> String { suspend().text }
    fileprivate mutating func cancel() -> String { cancel().text }
}

@Suite struct SessionTaskPhaseTests {
    private var phase = Phase.created("spec")

    @Test mutating func startsOnceThenSuspendsAndResumes() {
        #expect(phase.state == .suspended)
        #expect(phase.suspend() == "nothing")
        #expect(phase.resume() == "begin work of spec")
        #expect(phase.resume() == "nothing")
        #expect(phase.suspend() == "suspend work of spec")
        #expect(phase.state == .suspended)
        #expect(phase.suspend() == "nothing")
        #expect(phase.resume() == "resume work of spec")
        #expect(phase.state == .running)
        let former = phase.complete()
        #expect(former?.spec == "spec" && former?.work == "work of spec")
        #expect(phase.state == .completed)
    }

    @Test mutating func completesWithoutWorkIfCancelledBeforeItsStart() {
        #expect(phase.cancel() == "complete spec")
        #expect(phase.state == .cancelling)
        #expect(phase.resume() == "nothing")
        #expect(phase.suspend() == "nothing")
        #expect(phase.cancel() == "nothing")
        let former = phase.complete()
        #expect(former?.spec == "spec" && former?.work == nil)
    }

    @Test(arguments: [false, true]) mutating func waitsForTheEndOfItsWorkIfCancelled(isSuspended: Bool) {
        _ = phase.resume()
        if isSuspended { _ = phase.suspend() }
        #expect(phase.cancel() == "cancel work of spec")
        #expect(phase.state == .cancelling && phase.spec == "spec")
        #expect(phase.resume() == "nothing")
        #expect(phase.suspend() == "nothing")
        #expect(phase.cancel() == "nothing")
        let former = phase.complete()
        #expect(former?.spec == "spec" && former?.work == "work of spec")
        #expect(phase.state == .completed)
    }

    @Test mutating func ignoresCommandsAfterItsEnd() {
        _ = phase.resume()
        #expect(phase.complete() != nil)
        #expect(phase.complete() == nil)
        #expect(phase.resume() == "nothing")
        #expect(phase.suspend() == "nothing")
        #expect(phase.cancel() == "nothing")
        #expect(phase.state == .completed && phase.spec == nil)
    }

    @Test mutating func changesWorkWhileItRunsOrIsSuspended() {
        phase.update { $0 = "early" }
        _ = phase.resume()
        phase.update { $0 += "!" }
        #expect(phase.suspend() == "suspend work of spec!")
        phase.update { $0 += "!" }
        #expect(phase.cancel() == "cancel work of spec!!")
        phase.update { $0 = "late" }
        #expect(phase.complete()?.work == "work of spec!!")
        phase.update { $0 = "late" }
        #expect(phase.state == .completed)
    }
}

@Suite("The ring of a streamed body")
struct BodyRingTests {
    private func read(_ ring: inout BodyRing, _ size: Int = 100) -> (BodyRing.Reading, String) {
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let result = ring.read(into: buffer)
            guard case .bytes(let count) = result else { return (result, "") }
            return (result, String(decoding: buffer.prefix(count), as: UTF8.self))
        }
    }

    @Test("Chunks come out in order, in pieces, and then the end")
    func order() {
        var ring = BodyRing(length: nil)
        #expect(read(&ring).0 == .notYet)
        #expect(ring.append(.init("abc".utf8), run: 0) == (true, true))
        #expect(ring.append(.init(), run: 0) == (true, false))
        #expect(ring.append(.init("de".utf8), run: 0) == (true, false))
        #expect(read(&ring, 2).1 == "ab")
        #expect(read(&ring, 2).1 == "c")
        #expect(read(&ring).1 == "de")
        #expect(read(&ring).0 == .notYet)
        #expect(ring.finish(nil, run: 0) == true)
        #expect(read(&ring).0 == .end)
    }

    @Test("The last chunk of an announced length waits for the producer's end")
    func heldBack() {
        var ring = BodyRing(length: 4)
        _ = ring.append(.init("ab".utf8), run: 0)
        _ = ring.append(.init("cd".utf8), run: 0)
        #expect(read(&ring).1 == "ab")
        #expect(read(&ring).0 == .notYet)
        #expect(ring.finish(nil, run: 0) == true)
        #expect(read(&ring).1 == "cd")
        #expect(read(&ring).0 == .end)
    }

    @Test("One byte too many fails, whatever was read before")
    func tooLong() {
        var ring = BodyRing(length: 4)
        _ = ring.append(.init("abcd".utf8), run: 0)
        #expect(ring.append(.init("e".utf8), run: 0).isWanted == false)
        #expect(read(&ring).0 == .failed)
        #expect(ring.failure is CoreBodyError)
    }

    @Test("An error of the producer fails the reader")
    func producerFailed() {
        struct Broken: Error {}
        var ring = BodyRing(length: nil)
        _ = ring.append(.init("a".utf8), run: 0)
        #expect(ring.finish(Broken(), run: 0) == false)
        #expect(read(&ring).0 == .failed)
        #expect(ring.failure is Broken)
    }

    @Test("After a restart nothing of the run before counts")
    func restart() {
        var ring = BodyRing(length: nil)
        _ = ring.append(.init("old".utf8), run: 0)
        _ = ring.restart()
        #expect(ring.run == 1)
        #expect(ring.append(.init("old".utf8), run: 0) == (false, false))
        #expect(ring.finish(nil, run: 0) == false)
        #expect(read(&ring).0 == .notYet)
        _ = ring.append(.init("new".utf8), run: 1)
        #expect(read(&ring).1 == "new")
    }

    @Test("An error belongs to its run, and stays after the end")
    func errorOfARun() {
        struct Broken: Error {}
        var ring = BodyRing(length: nil)
        #expect(ring.finish(Broken(), run: 0) == false)
        #expect(read(&ring).0 == .failed)
        _ = ring.restart()
        #expect(ring.failure == nil)
        _ = ring.append(.init("again".utf8), run: 1)
        #expect(read(&ring).1 == "again")
        #expect(ring.finish(Broken(), run: 1) == false)
        _ = ring.close()
        #expect(ring.failure is Broken)
    }
}
