import FoundationEssentials
import Testing

@testable import SwiftAF

/// The phase of a task whose spec, work and ending are texts.
private typealias Phase = SessionTaskPhase<String, String, String>

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
        let former = phase.complete(with: "success")
        #expect(former?.spec == "spec" && former?.work == "work of spec")
        #expect(phase.state == .completed)
    }

    @Test mutating func completesWithoutWorkIfCancelledBeforeItsStart() {
        #expect(phase.cancel() == "complete spec")
        #expect(phase.state == .cancelling)
        #expect(phase.resume() == "nothing")
        #expect(phase.suspend() == "nothing")
        #expect(phase.cancel() == "nothing")
        let former = phase.complete(with: "success")
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
        let former = phase.complete(with: "success")
        #expect(former?.spec == "spec" && former?.work == "work of spec")
        #expect(phase.state == .completed)
    }

    @Test mutating func ignoresCommandsAfterItsEnd() {
        _ = phase.resume()
        phase.updateEnding { $0 = "too early" }
        #expect(phase.ending == nil)
        #expect(phase.complete(with: "success") != nil)
        #expect(phase.complete(with: "failure") == nil)
        #expect(phase.ending == "success")
        phase.updateEnding { $0 += ", refused" }
        #expect(phase.ending == "success, refused")
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
        #expect(phase.complete(with: "success")?.work == "work of spec!!")
        phase.update { $0 = "late" }
        #expect(phase.state == .completed)
    }
}

@Suite struct BodyRingTests {
    private struct Broken: Error {}

    private func read(_ ring: inout BodyRing, _ size: Int = 100) -> (BodyRing.Reading, String) {
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let (result, waiter) = ring.read(into: buffer)
            waiter?.resume(returning: true)
            guard case .bytes(let count) = result else { return (result, "") }
            return (result, String(decoding: buffer.prefix(count), as: UTF8.self))
        }
    }

    private func append(_ text: String, _ ring: inout BodyRing) -> CoreStreamSource.Notice? {
        let (next, notice) = ring.append(Data(text.utf8), run: ring.run)
        #expect(next == .produce)
        return notice
    }

    @Test func returnsChunksInOrderBeforeEnd() {
        var ring = BodyRing(length: nil)
        #expect(read(&ring).0 == .notYet)
        #expect(append("abc", &ring) == .canRead)
        #expect(append("", &ring) == nil)
        #expect(append("de", &ring) == nil)
        #expect(read(&ring, 2).1 == "ab")
        #expect(append("f", &ring) == nil)
        #expect(read(&ring).1 == "cdef")
        #expect(read(&ring).0 == .notYet)
        #expect(ring.finish(nil, run: 0) == .canRead)
        #expect(read(&ring).0 == .end)
    }

    @Test func smallChunksAreReadTogether() {
        var ring = BodyRing(length: nil)
        var text = ""
        for number in 0..<1000 {
            let chunk = String(number + 10_000_000)
            text += chunk
            #expect(append(chunk, &ring) == nil)
        }
        #expect(read(&ring, 64 * 1024).1 == text)
    }

    @Test(arguments: [1, 7, 1000, 16 * 1024, 100_000]) func aNumberOfBytesSuspendsTheProducer(size: Int) async {
        var ring = BodyRing(length: nil)
        var appended = 0
        while ring.append(Data(count: size), run: 0).0 == .produce { appended += size }
        #expect((BodyRing.maximumBytes - size..<BodyRing.maximumBytes).contains(appended))
        let isWanted = await withCheckedContinuation { waiter in
            #expect(ring.wait(waiter, run: 0) == nil)
            var left = appended + size
            while left > 0, case .bytes(let count) = read(&ring, 10_000).0 { left -= count }
            #expect(left == 0)
        }
        #expect(isWanted)
        #expect(read(&ring).0 == .notYet)
    }

    @Test func aRestartAndACloseStopAWaitingProducer() async {
        for isClose in [false, true] {
            var ring = BodyRing(length: nil)
            #expect(ring.append(Data(count: BodyRing.maximumBytes), run: 0).0 == .wait)
            let isWanted = await withCheckedContinuation { waiter in
                #expect(ring.wait(waiter, run: 0) == nil)
                (isClose ? ring.close() : ring.restart())?.resume(returning: false)
            }
            #expect(!isWanted)
            #expect(ring.append(Data(count: 1), run: 0).0 == .stop)
            #expect(read(&ring).0 == (isClose ? .failed : .notYet))
        }
    }

    @Test func endsAtAnnouncedLengthWithoutProducer() {
        var ring = BodyRing(length: 4)
        #expect(append("ab", &ring) == nil)
        #expect(append("cd", &ring) == nil)
        #expect(read(&ring).1 == "abcd")
        #expect(read(&ring).0 == .end)
        #expect(!ring.isOver)
        #expect(ring.finish(nil, run: 0) == .ended)
        #expect(ring.isOver)
    }

    @Test func failsBeyondAnnouncedLength() {
        var ring = BodyRing(length: 4)
        #expect(append("abcd", &ring) == nil)
        #expect(read(&ring, 2).1 == "ab")
        #expect(ring.append(.init("e".utf8), run: 0) == (.stop, nil))
        #expect(read(&ring).0 == .failed)
        #expect(ring.failure is CoreBodyError)
        #expect(ring.lateFailure == nil)
    }

    @Test func whatGoesWrongAfterTheLastByteIsNoticed() {
        var ring = BodyRing(length: 4)
        #expect(append("abcd", &ring) == nil)
        #expect(read(&ring).1 == "abcd")
        #expect(ring.append(.init("e".utf8), run: 0) == (.stop, .failedLate))
        #expect(ring.lateFailure is CoreBodyError)
        #expect(read(&ring).0 == .failed)
        #expect(ring.restart() == nil)
        #expect(append("abcd", &ring) == nil)
        #expect(read(&ring).1 == "abcd")
        #expect(ring.finish(Broken(), run: 1) == .failedLate)
        #expect(ring.close() == nil)
        #expect(ring.lateFailure is Broken)
    }

    @Test func aLengthOfZeroIsAtItsEnd() {
        var ring = BodyRing(length: 0)
        #expect(read(&ring).0 == .end)
        #expect(ring.append(.init("a".utf8), run: 0) == (.stop, .failedLate))
    }

    @Test func producerErrorFailsReader() {
        var ring = BodyRing(length: nil)
        #expect(append("a", &ring) == nil)
        #expect(ring.finish(Broken(), run: 0) == nil)
        #expect(read(&ring).0 == .failed)
        #expect(ring.failure is Broken)
    }

    @Test func anErrorWakesTheReader() {
        var ring = BodyRing(length: nil)
        #expect(read(&ring).0 == .notYet)
        #expect(ring.finish(Broken(), run: 0) == .canRead)
        #expect(read(&ring).0 == .failed)
    }

    @Test func restartDiscardsEarlierRun() {
        var ring = BodyRing(length: 3)
        #expect(append("old", &ring) == nil)
        #expect(read(&ring, 1).1 == "o")
        #expect(ring.restart() == nil)
        #expect(ring.run == 1)
        #expect(ring.append(.init("old".utf8), run: 0) == (.stop, nil))
        #expect(ring.finish(nil, run: 0) == nil)
        #expect(read(&ring).0 == .notYet)
        #expect(append("new", &ring) == .canRead)
        #expect(read(&ring).1 == "new")
    }

    @Test func errorBelongsToItsRun() {
        var ring = BodyRing(length: nil)
        #expect(ring.finish(Broken(), run: 0) == nil)
        #expect(read(&ring).0 == .failed)
        #expect(ring.restart() == nil)
        #expect(ring.failure == nil)
        #expect(append("again", &ring) == nil)
        #expect(read(&ring).1 == "again")
        #expect(ring.finish(Broken(), run: 1) == nil)
        #expect(ring.close() == nil)
        #expect(ring.failure is Broken)
    }
}
