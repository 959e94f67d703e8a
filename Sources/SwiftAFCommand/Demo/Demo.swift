import AFTestServer
import FoundationEssentials
import SwiftAF

/// A tour of the main jobs on an embedded server, which checks what it shows.
struct Demo {
    /// A part of the tour.
    struct Stop: Sendable {
        /// What it is about.
        let title: String
        /// The Swift line that does it.
        let code: String
        /// Does it, checks that it came out as it should, and says what there was to see.
        let visit: @Sendable (Stage) async throws -> [String]
    }

    /// Something came out differently.
    struct Surprise: Error {
        let message: String
    }

    let style: Style
    /// Takes the lines as they come.
    let write: (String) throws(WriteError) -> Void

    /// Visits every stop. Nil if all of them came out as they should.
    func run() async throws(WriteError) -> Failure? {
        let stage: Stage
        do {
            stage = try Stage()
        } catch {
            return Failure(.software, .unknown, "the embedded server can't start: \(error)")
        }
        try write(style.bold("A tour of SwiftAF on an embedded server at \(stage.server.urlString(""))"))
        var surprises = 0
        for (index, stop) in Self.stops.enumerated() {
            guard !Task.isCancelled else { return Failure(.cancelled, .cancelled, "the tour was interrupted") }
            if try await !show(stop, number: index + 1, on: stage) { surprises += 1 }
        }
        guard surprises == 0 else {
            return Failure(.software, .unknown, "\(surprises) of \(Self.stops.count) stops came out differently")
        }
        try write("")
        try write(style.green("All \(Self.stops.count) came out as they should."))
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
            let message = (error as? Surprise)?.message ?? "\(error)"
            try write("    \(style.red("✗ \(message)"))")
            return false
        }
    }
}

/// What the stops share.
final class Stage: Sendable {
    let server: TestServer
    let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"), requestSerializer: JSONRequestSerializer())
    }

    /// A request of its own to a path of the server.
    func request(_ path: String, headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(server.urlString(path), headers: headers)
    }
}

/// Colours, where there is a terminal.
struct Style: Sendable {
    let isColoured: Bool

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "31") }
    func green(_ text: String) -> String { wrap(text, "32") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Ends a stop if something is not as it should be.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(Demo.Surprise) {
    guard condition else { throw Demo.Surprise(message: message()) }
}

/// Runs what has to fail with an error of a code, and gives the error.
func expectError(_ code: SessionError.Code, _ action: () async throws -> Void) async throws -> SessionError {
    do {
        try await action()
    } catch let error as SessionError {
        try expect(error.code == code, "\(code) was expected, not \(error)")
        return error
    }
    throw Demo.Surprise(message: "\(code) was expected, and there was no error")
}
