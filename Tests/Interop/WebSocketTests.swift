import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Sockets with a server that others wrote: directly, and through nginx without and with TLS.
    @Suite struct WebSockets {
        enum Way: CaseIterable {
            case direct, nginx, nginxOverTLS
        }

        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
        }

        private func url(_ path: String, _ way: Way) -> String {
            switch way {
            case .direct: servers.webSockets.url(path)
            case .nginx: servers.nginx.url("/sockets" + path)
            case .nginxOverTLS: servers.nginx.url("/sockets" + path, .tls)
            }
        }

        @Test(arguments: Way.allCases)
        func echoesMessagesOfEachLengthEncoding(way: Way) async throws {
            let socket = try await manager.webSocket(url("/", way), protocols: ["v0", "v1"])
            #expect(socket.subprotocol == "v1")
            var messages = socket.makeAsyncIterator()
            for size in [0, 1, 125, 126, 65535, 65536, 3_000_000] {
                let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 3) })
                try await socket.send(data)
                #expect(try await messages.next() == .binary(data))
                let text = String(repeating: "ß", count: size / 2)
                try await socket.send(text)
                #expect(try await messages.next() == .text(text))
            }
            try await socket.ping()
            try await socket.close(.goingAway, reason: "enough")
            #expect(socket.closeCode == .goingAway)
            #expect(try await messages.next() == nil)
        }

        @Test(arguments: Way.allCases)
        func joinsFragmentedMessage(way: Way) async throws {
            let socket = try await manager.webSocket(url("/fragments", way))
            var messages = socket.makeAsyncIterator()
            #expect(try await messages.next() == .text("fragments"))
            try await socket.close()
        }

        @Test(arguments: Way.allCases)
        func reportsCodeAndReasonOfServer(way: Way) async throws {
            let socket = try await manager.webSocket(url("/closes", way))
            for try await message in socket { Issue.record("unexpected \(message)") }
            #expect(socket.closeCode?.rawValue == 4001)
            #expect(socket.closeReason == "not today")
        }

        @Test func manySocketsAtOnceKeepTheirMessages() async throws {
            let manager = servers.manager { $0.maximumConnectionsPerHost = 32 }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<32 {
                    group.addTask { [url = url("/", .nginx)] in
                        let socket = try await manager.webSocket(url)
                        var messages = socket.makeAsyncIterator()
                        for round in 0..<20 {
                            try await socket.send("\(index) \(round)")
                            #expect(try await messages.next() == .text("\(index) \(round)"))
                        }
                        try await socket.close()
                    }
                }
                try await group.waitForAll()
            }
        }

        @Test func refusalHasTheResponseOfTheServer() async throws {
            do {
                _ = try await manager.webSocket(servers.nginx.url("/missing"))
                Issue.record("the socket was opened")
            } catch {
                #expect(error.code == .status)
                #expect(error.status == 404)
            }
        }
    }
}
