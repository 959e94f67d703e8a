import AFTestServer
import Foundation
import SwiftAF
import Testing
import WeatherClient

// Each test has a server of its own on a free port, so they run at the same time.
@Suite struct WeatherClientTests {
    let server: TestServer
    let client: WeatherClient

    init() throws {
        server = try TestServer()
        client = WeatherClient(baseURL: server.urlString("/"), token: "secret")
    }

    @Test func sendsCityAndToken() async throws {
        server.route("GET /weather", .json(#"{"degrees": 21.5}"#))

        #expect(try await client.weather(in: "Ulm")?.degrees == 21.5)
        #expect(server.requests.first?.target == "/weather?city=Ulm")
        #expect(server.requests.first?["Authorization"] == "Bearer secret")
    }

    @Test func returnsNilForUnknownCity() async throws {
        server.route("GET /weather", .status(404))

        #expect(try await client.weather(in: "Atlantis") == nil)
    }

    @Test func retriesABusyServer() async throws {
        server.route("GET /weather", times: 1, .status(503, headers: ["Retry-After": "0"]))
        server.route("GET /weather", .json(#"{"degrees": -3}"#))

        #expect(try await client.weather(in: "Oslo")?.degrees == -3)
        #expect(server.requests.count == 2)
    }

    @Test func reportsTruncatedResponses() async throws {
        server.route("GET /weather", .truncated(body: Data("{".utf8), promising: 20))

        await #expect(throws: SessionError.self) { try await client.weather(in: "Ulm") }
    }
}
