import Foundation

/// A WebSocket server made with Python's `websockets`, from the virtual environment that Scripts/setup makes.
///
/// It sends messages back. `/fragments` first sends a message in three frames, `/closes` closes with 4001.
final class WebSocketEcho: Sendable {
    private static let program = """
        import asyncio
        import socket
        from websockets.asyncio.server import serve

        async def exchange(connection):
            if connection.request.path.endswith("/fragments"):
                await connection.send(["frag", "men", "ts"])
            if connection.request.path.endswith("/closes"):
                return await connection.close(4001, "not today")
            async for message in connection:
                await connection.send(message)

        def choose(connection, offered):
            return "v1" if "v1" in offered else None

        async def main():
            listener = socket.socket(fileno=3)
            async with serve(exchange, sock=listener, select_subprotocol=choose, max_size=None):
                await asyncio.get_running_loop().create_future()

        asyncio.run(main())
        """

    let port: Int
    let process: ServerProcess

    init() throws {
        let socket = try ListeningSocket()
        port = socket.port
        process = try ServerProcess(
            [Httpbin.python, "-c", Self.program], environment: ["PYTHONDONTWRITEBYTECODE": "1"], sockets: [socket],
            folder: try TemporaryFolder())
    }

    func url(_ path: String) -> String { "ws://127.0.0.1:\(port)\(path)" }
}
