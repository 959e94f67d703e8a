import Glibc
import SwiftAF

/// What a command line reads standard input for besides a body, such as `--bearer @/dev/stdin`. What is read there
/// mustn't be sent a second time as the body: it may be a secret.
enum InputConsumer {
    /// Returns the option or item whose file is standard input; nil if no file is, or if standard input is a terminal
    /// or another device.
    static func name(
        in command: RequestCommand, _ options: Options, input: Int32, _ environment: @autoclosure () -> [String: String]
    ) -> String? {
        let files = options.readFiles + command.items.compactMap(\.readFile)
        guard !files.isEmpty, let status = FileStatus(input), [.regular, .pipe, .socket].contains(status.kind)
        else { return nil }
        return files.first { isSame($0.path.expandingHome(environment()), status) }?.name
    }

    /// Whether a path names a file, by whichever name or descriptor.
    static func isSame(_ path: RawText, _ file: FileStatus) -> Bool { FileStatus(path)?.identity == file.identity }
}

private typealias ReadFile = (name: String, path: RawText)

extension Options {
    /// The files that are read for other purposes than a body.
    fileprivate var readFiles: [ReadFile] {
        let certificatePassword = certificate?.password?.text.flatMap { try? Secret($0) }
        let secrets =
            [("--user", user), ("--bearer", bearerToken), ("--proxy", proxySource)] + cookieSources.map { ("-b", $0) }
            + [("--key-password", keyPassword), ("-E", certificatePassword)]
        var files = secrets.compactMap { name, secret in secret?.filePath.map { (name, $0) } }
        if case .path(let path)? = netrc { files.append(("--netrc", path)) }
        if case .texts(let texts)? = data, putsDataInQuery {
            for case .encodedFile(_, let path) in texts { files.append(("--data-urlencode", path)) }
        }
        let paths = [
            ("--cookies", cookieJar), ("--hsts", hstsPath), ("--cacert", anchorsPath), ("-E", certificate?.path),
            ("--key", keyPath),
        ]
        files += paths.compactMap { name, path in path.map { (name, $0) } }
        files += cookieInputs.map { ("-b", $0) } + pinnedCertificatePaths.map { ("--pin-cert", $0) }
        return files
    }
}

extension Secret {
    fileprivate var filePath: RawText? {
        if case .file(let path) = self { path } else { nil }
    }
}

extension Item {
    /// The file of a header or a query item. That of a field is a part of the body.
    fileprivate var readFile: ReadFile? {
        switch self {
        case .headerFromFile(let name, let path): ("\(name):@…", path)
        case .queryFromFile(let name, let path): ("\(name)==@…", path)
        default: nil
        }
    }
}
