import AFTestServer
import FoundationEssentials
import SwiftAF

/// Demonstrates the main features against an embedded server, and checks the results.
struct Demo {
    /// A step of the tour.
    struct Stop: Sendable {
        /// The title of the step.
        let title: String
        /// The line of Swift that the step demonstrates.
        let code: String
        /// Runs the step, checks the result, and returns the lines to print.
        let visit: @Sendable (Stage) async throws -> [String]
    }

    /// A result differs from what was expected.
    struct StepFailure: Error {
        let message: String
    }

    let style: Style
    /// Called with each line as soon as it is available.
    let write: (String) throws(WriteError) -> Void

    /// Runs all steps. Nil if all of them succeeded.
    func run() async throws(WriteError) -> Failure? {
        let stage: Stage
        do {
            stage = try Stage()
        } catch {
            return Failure(.software, .unknown, "the embedded server can't start: \(error)")
        }
        try write(style.bold("A tour of SwiftAF on an embedded server at \(stage.server.urlString(""))"))
        var failures = 0
        for (index, stop) in Self.stops.enumerated() {
            guard !Task.isCancelled else { return Failure(.cancelled, .cancelled, "the tour was interrupted") }
            if try await !show(stop, number: index + 1, on: stage) { failures += 1 }
        }
        guard failures == 0 else {
            return Failure(.software, .unknown, "\(failures) of \(Self.stops.count) steps failed")
        }
        try write("")
        try write(style.green("All \(Self.stops.count) steps passed."))
        return nil
    }

    private func show(_ stop: Stop, number: Int, on stage: Stage) async throws(WriteError) -> Bool {
        try write("")
        let heading = "\(String(number).rightAligned(to: 2))  \(style.bold(stop.title.padded(to: 36)))"
        try write("\(heading) \(style.dim(stop.code))")
        do {
            for line in try await stop.visit(stage) { try write("    \(line)") }
            return true
        } catch let error as WriteError {
            throw error
        } catch {
            let message = (error as? StepFailure)?.message ?? "\(error)"
            try write("    \(style.red("✗ \(message)"))")
            return false
        }
    }
}

/// The objects that the steps share.
final class Stage: Sendable {
    let server: TestServer
    let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"), requestSerializer: JSONRequestSerializer())
    }

    /// Returns a new request for a path of the server.
    func request(_ path: String, headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(server.urlString(path), headers: headers)
    }
}

/// Fails the step if a condition is false.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(Demo.StepFailure) {
    guard condition else { throw Demo.StepFailure(message: message()) }
}

/// Runs an action that must fail with an error code, and returns the error.
func expectError(_ code: SessionError.Code, _ action: () async throws -> Void) async throws -> SessionError {
    do {
        try await action()
    } catch let error as SessionError {
        try expect(error.code == code, "\(code) was expected, not \(error)")
        return error
    }
    throw Demo.StepFailure(message: "\(code) was expected, and there was no error")
}
