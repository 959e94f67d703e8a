import Foundation
import FoundationNetworking

/// Counts a body as it comes, without keeping it.
///
/// Unchecked, since its state is touched on the delegate queue of one session only, which is serial.
final class ByteCounter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private var count = 0
    private var continuation: CheckedContinuation<(Int, URLResponse?), any Error>?

    private init(_ continuation: CheckedContinuation<(Int, URLResponse?), any Error>) {
        self.continuation = continuation
    }

    /// The size of the body that answers `request`, over a session of its own.
    static func count(
        _ request: URLRequest, configuration: URLSessionConfiguration
    ) async throws -> (Int, URLResponse?) {
        try await withCheckedThrowingContinuation { continuation in
            let counter = ByteCounter(continuation)
            let session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
            session.dataTask(with: request).resume()
            session.finishTasksAndInvalidate()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        count += data.count
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error {
            continuation?.resume(throwing: error)
        } else {
            continuation?.resume(returning: (count, task.response))
        }
        continuation = nil
    }
}
