import Testing

@testable import SwiftAF

@Suite("The state of a task handle")
struct SessionTaskStateTests {
    @Test("Starts once, then stops and goes on")
    func runs() {
        var state = SessionTaskState()
        #expect(state.state == .suspended)
        #expect(state.suspend() == .nothing)
        #expect(state.resume() == .begin)
        #expect(state.resume() == .nothing)
        #expect(state.suspend() == .suspendTransfer)
        #expect(state.suspend() == .nothing)
        #expect(state.resume() == .resumeTransfer)
        #expect(state.state == .running)
        #expect(state.complete() == true)
        #expect(state.state == .completed)
    }

    @Test("Cancelled before it began it completes without a transfer")
    func cancelledEarly() {
        var state = SessionTaskState()
        #expect(state.cancel() == .completeCancelled)
        #expect(state.state == .cancelling)
        #expect(state.resume() == .nothing)
        #expect(state.cancel() == .nothing)
        #expect(state.complete() == true)
    }

    @Test("Cancelled while it runs or is suspended it waits for its end")
    func cancelledLater() {
        var state = SessionTaskState()
        _ = state.resume()
        _ = state.suspend()
        #expect(state.cancel() == .cancelTransfer)
        #expect(state.resume() == .nothing)
        #expect(state.suspend() == .nothing)
        #expect(state.cancel() == .nothing)
        #expect(state.complete() == true)
        #expect(state.state == .completed)
    }

    @Test("After the end nothing happens")
    func ended() {
        var state = SessionTaskState()
        _ = state.resume()
        #expect(state.complete() == true)
        #expect(state.complete() == false)
        #expect(state.resume() == .nothing)
        #expect(state.suspend() == .nothing)
        #expect(state.cancel() == .nothing)
        #expect(state.state == .completed)
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
}
