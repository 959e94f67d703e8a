import AFTestServer
import Glibc
import SwiftAF
import Testing

/// A manager that is made while there are no file descriptors. In a process of its own, which has none for this time.
@Suite(.timeLimit(.minutes(10)))
struct SessionShortageTests {
    /// Runs `body` without descriptors to spare.
    private static func withoutDescriptors<Value>(_ body: () throws -> Value) rethrows -> Value {
        var former = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former)
        var none = rlimit(rlim_cur: 0, rlim_max: former.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
        defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former) }
        return try body()
    }

    #if compiler(>=6.2)
        @Test func aLaterRequestMakesTheSession() async {
            await #expect(processExitsWith: .success) {
                let server = try TestServer()
                server.route("/", .text("ok"))
                let url = server.urlString("/")
                let manager = Self.withoutDescriptors {
                    let manager = HTTPSessionManager(baseURL: url)
                    let error = #expect(throws: SessionError.self) { try manager.checkConfiguration() }
                    #expect(error?.code == .outOfMemory && error?.systemError == EMFILE)
                    return manager
                }
                manager.headers["X-A"] = "1"
                // Several at once use the session of the fastest.
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            let text = try? await manager.get("", as: String.self)
                            #expect(text == "ok")
                        }
                    }
                }
                try manager.checkConfiguration()
                await manager.shutdown()
                let error = await #expect(throws: SessionError.self) { try await manager.get("") }
                #expect(error?.code == .closed)
            }
        }

        @Test func aManagerThatWasInvalidatedMakesNone() async {
            await #expect(processExitsWith: .success) {
                let manager = Self.withoutDescriptors { HTTPSessionManager(baseURL: "http://127.0.0.1:1/") }
                manager.invalidate(cancellingTasks: true)
                let error = await #expect(throws: SessionError.self) { try await manager.get("") }
                #expect(error?.code == .closed)
            }
        }

        @Test func aNewSecurityPolicyIsForTheSessionThatIsMadeLater() async {
            await #expect(processExitsWith: .success) {
                let server = try TestServer()
                server.route("/", .text("ok"))
                let url = server.urlString("/")
                let manager = HTTPSessionManager(baseURL: url)
                Self.withoutDescriptors { manager.securityPolicy = SecurityPolicy(validatesDomainName: false) }
                let text = try await manager.get("", as: String.self)
                #expect(text == "ok")
            }
        }
    #endif
}
