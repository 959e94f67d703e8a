import Testing

@Suite struct EventuallyTests {
    @Test func recordsAnIssueForWhatNeverHolds() async {
        await withKnownIssue { await eventually(within: .zero) { false } }
        await eventually { true }
    }

    @Test func recordsAnIssueForValuesThatNeverCome() async throws {
        let recorder = Recorder<Int>()
        recorder.record(1)
        await withKnownIssue { await recorder.wait(for: 2, within: .milliseconds(1)) }
        #expect(try await recorder.value() == 1)
        recorder.record(2)
        #expect(try await recorder.value(at: 1) == 2)
    }
}
