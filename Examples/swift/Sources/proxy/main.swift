// Sends requests through a proxy, and to a server that listens on a Unix socket.
//
//     swift run proxy http://example.org/ http://127.0.0.1:3128
//     swift run proxy http://localhost/version /run/docker.sock
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: proxy URL PROXY-OR-SOCKET")
    exit(2)
}

var configuration = SessionConfiguration()
if arguments[2].hasPrefix("/") {
    configuration.network.unixSocket = arguments[2]
} else {
    configuration.proxies = ProxyConfiguration(all: arguments[2])
}

let manager = HTTPSessionManager(configuration: configuration)
let response = try await manager.response(for: HTTPRequest(arguments[1]))
print(response.status, try response.text())
