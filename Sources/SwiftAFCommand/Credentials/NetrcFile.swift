/// The file of `--netrc`.
enum NetrcFile: Sendable, Equatable {
    /// `~/.netrc`
    case ofHome
    case path(RawText)
}
