import AFTestServer
import SwiftAF

// The calls of a test of an own client.

func breaksConnections(_ server: TestServer) {
    server.onAccept(.stall(at: "handshake"))
    server.onAccept(0, .reset)
    server.onConnection(.stall(at: "request"))
    server.onConnection(2, .close)
}
