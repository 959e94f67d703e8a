import AFTestServer
import FoundationEssentials
import SwiftAF

/// Demonstrates the main features against an embedded server, and checks the results.
struct Demo {
    /// A step of the tour.
    struct Step: Sendable {
        /// The title of the step.
        let title: String
        /// The line of Swift that the step demonstrates.
        let code: String
        /// Runs the step, checks the result, and returns the lines to print.
        let run: @Sendable (DemoServer) async throws -> [String]
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
        let demo: DemoServer
        do {
            demo = try DemoServer()
        } catch {
            return Failure(.software, .unknown, "the embedded server can't start: \(error)")
        }
        try write(style.bold("A tour of SwiftAF on an embedded server at \(demo.server.urlString(""))"))
        var failures = 0
        for (index, step) in Self.steps.enumerated() {
            guard !Task.isCancelled else { return Failure(.cancelled, .cancelled, "the tour was interrupted") }
            if try await !show(step, number: index + 1, on: demo) { failures += 1 }
        }
        guard failures == 0 else {
            return Failure(.software, .unknown, "\(failures) of \(Self.steps.count) steps failed")
        }
        try write("")
        try write(style.green("All \(Self.steps.count) steps passed."))
        return nil
    }

    private func show(_ step: Step, number: Int, on demo: DemoServer) async throws(WriteError) -> Bool {
        try write("")
        let heading = "\(String(number).rightAligned(to: 2))  \(style.bold(step.title.padded(to: 36)))"
        try write("\(heading) \(style.dim(step.code))")
        do {
            for line in try await step.run(demo) { try write("    \(line)") }
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
final class DemoServer: Sendable {
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
