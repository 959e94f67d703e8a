#if GTK
    import CGTKBinding
    import Glibc

    /// A test: a condition and its result.
    struct TestCase {
        let name: String
        let body: @MainActor () async throws -> Void

        init(_ name: String, _ body: @escaping @MainActor () async throws -> Void) {
            self.name = name
            self.body = body
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What the tests found, and what they wait with.
    @MainActor
    enum Harness {
        private static var failures: [String] = []
        private static let patience: Duration = .seconds(120)

        /// Runs the tests one after the other.
        ///
        /// - Returns: Whether all passed.
        static func run(_ tests: [TestCase], rounds: Int) async -> Bool {
            var failed = 0
            for test in tests {
                failures = []
                for _ in 0..<rounds where failures.isEmpty {
                    do {
                        try await test.body()
                    } catch {
                        failures.append("\(error)")
                    }
                }
                failed += failures.isEmpty ? 0 : 1
                print(failures.isEmpty ? "✔" : "✘", test.name)
                for failure in failures { print("    error:", failure) }
                fflush(nil)
            }
            print(failed == 0 ? "\(tests.count) tests passed" : "\(failed) of \(tests.count) tests failed")
            return failed == 0
        }

        static func expect(_ isTrue: Bool, _ what: String = "", line: Int = #line, file: String = #fileID) {
            if !isTrue { failures.append("\(file):\(line): \(what)") }
        }

        static func expect<Value: Equatable>(
            _ value: Value, is expected: Value, line: Int = #line, file: String = #fileID
        ) {
            if value != expected { failures.append("\(file):\(line): \(value), not \(expected)") }
        }

        /// Waits, while the main loop runs, until something is true.
        static func until(
            _ what: String, line: Int = #line, file: String = #fileID, _ isTrue: @MainActor () -> Bool
        ) async throws {
            let end = ContinuousClock.now + patience
            while !isTrue() {
                guard ContinuousClock.now < end else { throw Failure(description: "\(file):\(line): never: \(what)") }
                await pause()
            }
        }

        /// Returns after a timer of the main loop.
        static func pause(milliseconds: UInt32 = 1) async {
            await withCheckedContinuation { continuation in
                after(milliseconds) { continuation.resume() }
            }
        }

        /// Calls a closure once, by a timer of the main loop.
        static func after(_ milliseconds: UInt32, _ body: @escaping @MainActor () -> Void) {
            let call = Unmanaged.passRetained(Call(body))
            _ = g_timeout_add(
                milliseconds,
                { call in
                    guard let call else { return 0 }
                    let object = Unmanaged<Call>.fromOpaque(call).takeRetainedValue()
                    MainActor.assumeIsolated { object.body() }
                    return 0
                }, call.toOpaque())
        }

        private final class Call: Sendable {
            let body: @MainActor () -> Void

            init(_ body: @escaping @MainActor () -> Void) {
                self.body = body
            }
        }
    }
#endif
