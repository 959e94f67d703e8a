import Foundation

/// httpbin under gunicorn, from the virtual environment that Scripts/setup makes.
final class Httpbin: Sendable {
    /// The virtual environment's interpreter.
    static let python: String = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        return (environment["AF_VENV"] ?? cache + "/swiftaf/venv") + "/bin/python"
    }()

    let port: Int
    let process: ServerProcess

    init() throws {
        let socket = try ListeningSocket()
        let folder = try TemporaryFolder()
        port = socket.port
        process = try ServerProcess(
            [
                Self.python, "-m", "gunicorn", "--bind", "fd://3", "--no-control-socket", "--worker-class", "gthread",
                "--threads", "32", "--keep-alive", "75", "--limit-request-line", "0", "--graceful-timeout", "1",
                "--worker-tmp-dir", folder.path,
                "httpbin:app",
            ],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"], sockets: [socket], folder: folder)
    }

    var origin: String { "http://127.0.0.1:\(port)" }

    func url(_ path: String) -> String { origin + path }
}
