import Glibc
import SwiftAF

/// The files that a run writes. If two outputs go to the same file, they are refused before anything is sent: one would
/// replace the other without a message.
struct WrittenPaths {
    /// A name in a folder, whichever spelling or link leads there.
    private struct Place: Hashable {
        let folder: FileStatus.Identity?
        /// The path below the folder: only its last part exists or is made, unless folders are missing.
        let names: [[UInt8]]
    }

    /// What writes to each place, as messages name it.
    private var writers: [Place: String] = [:]

    init(of command: RequestCommand, _ options: Options, _ session: NamedSession?) throws(UsageError) {
        for one in command.each {
            if let file = try FileTarget.of(one, options) { try add(file, options) }
        }
        if let session { try addLocked(session.documentPath, as: "--session") }
        if let jar = options.cookieJar { try addLocked(jar, as: session == nil ? "--cookies" : "--session") }
        for jar in options.writtenJars where jar != options.cookieJar && jar != "-" {
            if options.readsJar(jar) { try addLocked(jar, as: "-c") } else { try add(jar, as: "-c") }
        }
        if let hosts = options.hstsPath { try addLocked(hosts, as: "--hsts") }
        if let archive = options.archivePath { try add(archive, as: "--har") }
    }

    /// The name of a file that the response chooses isn't known yet: see ``ChosenName``.
    private mutating func add(_ file: FileTarget, _ options: Options) throws(UsageError) {
        guard case .path(let path) = file.name else { return }
        try add(path, as: options.outputPath == nil ? "a download" : "-o")
        if file.isDownload { try addPartialFile(of: path) }
    }

    /// Adds a download whose name is known now. If it can't be written, nothing is added.
    fileprivate mutating func addDownload(_ path: RawText) throws(UsageError) {
        var all = self
        try all.add(path, as: "a download")
        try all.addPartialFile(of: path)
        self = all
    }

    private mutating func addPartialFile(of path: RawText) throws(UsageError) {
        guard OutputFile.isReplaced(path) else { return }
        for file in PartialFile(of: path).all {
            try claim(file, "the partial file of \(path.shown.printable)")
        }
    }

    /// Pipes, devices and descriptors of the process aren't replaced: they get one output after the other.
    private mutating func add(_ path: RawText, as writer: String) throws(UsageError) {
        if OutputFile.isReplaced(path) { try claim(OutputFile.target(path), writer) }
    }

    /// A file that other runs may change meanwhile, and its lock.
    private mutating func addLocked(_ path: RawText, as writer: String) throws(UsageError) {
        guard OutputFile.isReplaced(path) else { return }
        try claim(OutputFile.target(path), writer)
        try claim(FileLock.lockPath(for: path), "the lock of \(writer)")
    }

    private mutating func claim(_ path: RawText, _ writer: String) throws(UsageError) {
        guard let other = writers.updateValue(writer, forKey: Self.place(of: path)) else { return }
        let both = other == writer ? "two downloads" : "\(other) and \(writer)"
        throw UsageError("\(both) would be the same file, \(path.shown.printable)")
    }

    /// Returns the folder that exists, and what is below it.
    private static func place(of path: RawText) -> Place {
        var status: FileStatus?
        var (folder, names) = (path.bytes[...], [[UInt8]]())
        repeat {
            while folder.last == UInt8(ascii: "/") { folder.removeLast() }
            let parent = OutputFile.directory(of: RawText(folder))
            let name = folder.dropFirst(parent.count)
            if !name.elementsEqual(".".utf8) { names.insert(Array(name), at: 0) }
            folder = parent
            status = FileStatus(folder.isEmpty ? "." : RawText(folder))
        } while !folder.isEmpty && status == nil
        return Place(folder: status?.identity, names: names)
    }
}

/// The files that a run writes, to which responses add theirs.
final class RunFiles: Sendable {
    private let paths: Locked<WrittenPaths>

    init(_ paths: WrittenPaths) {
        self.paths = Locked(paths)
    }

    fileprivate func addDownload(_ path: RawText) -> Result<Void, UsageError> {
        paths.withLock { paths in Result { () throws(UsageError) in try paths.addDownload(path) } }
    }
}

/// The file that a response names. It must differ from all other files of the run; the library compares it only with
/// files that exist.
final class ChosenName: Sendable {
    private enum State {
        case unknown
        case taken(RawText)
        case refused(UsageError)
    }

    private let files: RunFiles
    private let state = Locked(State.unknown)

    init(among files: RunFiles) {
        self.files = files
    }

    /// Why the name was refused; nil if it wasn't.
    var refusal: UsageError? {
        state.withLock { if case .refused(let error) = $0 { error } else { nil } }
    }

    /// Takes a name. Another attempt of the same download can take it again.
    ///
    /// - Returns: False if it is refused.
    func take(_ path: RawText) -> Bool {
        if state.withLock({ if case .taken(path) = $0 { true } else { false } }) { return true }
        switch files.addDownload(path) {
        case .success: state.withLock { $0 = .taken(path) }
        case .failure(let error): state.withLock { $0 = .refused(error) }
        }
        return refusal == nil
    }
}
