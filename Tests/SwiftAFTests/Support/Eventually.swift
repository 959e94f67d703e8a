import AFTestServer
import Testing

/// Waits until something holds that nothing reports. After a long limit it records an issue, so that a test fails
/// instead of waiting for what never comes.
func eventually(
    within limit: Duration = TestServer.patience, sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: () throws -> Bool
) async rethrows {
    let end = ContinuousClock.now + limit
    while try !holds() {
        guard ContinuousClock.now < end else {
            Issue.record("didn't hold within \(limit)", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}
