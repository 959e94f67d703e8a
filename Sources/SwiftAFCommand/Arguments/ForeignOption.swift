/// An option of curl or HTTPie that this program doesn't have, and its equivalent here.
struct ForeignOption: Sendable {
    /// All spellings.
    let names: [String]
    /// What to use instead, for the text after a semicolon. The table of docs/cli-from-curl.md has the same text.
    let advice: String

    private init(_ names: String..., use advice: String) {
        self.names = names
        self.advice = advice
    }

    /// Returns `; ADVICE` for an option of another program, or an empty string for any other.
    static func text(for name: String) -> String {
        all.first { $0.names.contains(name) }.map { "; \($0.advice)" } ?? ""
    }

    static let all = [
        // curl's
        ForeignOption("-w", "--write-out", use: "--json has the status, sizes and times; --timings prints the times"),
        ForeignOption("-r", "--range", use: "a header does it: Range:bytes=0-9"),
        ForeignOption(
            "-z", "--time-cond", use: "a header does it: If-Modified-Since:DATE; --timestamps compares files"),
        ForeignOption(
            "--fail-with-body", use: "the exit status is 2 anyway, and the body is printed unless -f is given"),
        ForeignOption("--connect-to", use: "--resolve HOST:PORT:ADDRESS connects to another address"),
        ForeignOption("--url", use: "a URL needs no option"),
        ForeignOption("--url-query", use: "an item does it: name==value"),
        ForeignOption("-#", "--progress-bar", use: "a terminal gets a progress bar anyway"),
        ForeignOption(
            "--proto", "--proto-redir", use: "only http and https are used, and no redirect leads from https to http"),
        ForeignOption("--proto-default", use: "a URL can begin with its scheme; https is the default"),
        ForeignOption("-Z", "--parallel", use: "download takes several URLs, in parallel"),
        ForeignOption("-:", "--next", use: "a run sends one request; download takes several URLs"),
        ForeignOption("--max-redirs", use: "--max-redirects N"),
        ForeignOption("--max-filesize", use: "--max-body BYTES"),
        ForeignOption("--pinnedpubkey", use: "--pin sha256//BASE64"),
        ForeignOption("-1", "--tlsv1", "--tlsv1.0", "--tlsv1.1", "--tlsv1.2", use: "TLS 1.2 is the oldest by default"),
        ForeignOption("--tlsv1.3", use: "--tls-min 1.3"),
        ForeignOption("--basic", "--digest", "--ntlm", "--negotiate", "--anyauth", use: "--auth SCHEME"),
        ForeignOption("--netrc-file", use: "--netrc=FILE"),
        ForeignOption("-U", "--proxy-user", use: "--proxy http://NAME:PASSWORD@HOST"),
        ForeignOption("-D", "--dump-header", use: "-i prints the head, --print h the head only"),
        ForeignOption("-R", "--remote-time", use: "--timestamps"),
        ForeignOption("--create-dirs", use: "-P DIR and -o DIR/ make the folder"),
        ForeignOption("--form-string", use: "upload with an item: name=value"),
        ForeignOption("--trace", "--trace-ascii", use: "-v prints the heads, --har PATH writes an archive"),
        ForeignOption("-K", "--config", use: "options are arguments only"),
        ForeignOption("-y", "-Y", "--speed-time", "--speed-limit", use: "--idle-timeout S"),
        ForeignOption(
            "--retry-delay", "--retry-max-time", use: "--retry waits as Retry-After says; --timeout S limits it"),
        ForeignOption("-V", use: "--version"),
        ForeignOption("--http3", "--http3-only", "-0", "--http1.0", use: "--http1.1 and --http2 are the versions"),
        ForeignOption("-g", "--globoff", use: "brackets and braces in a URL are never expanded"),
        ForeignOption("--pass", use: "--key-password P"),
        ForeignOption("--data-ascii", use: "-d DATA"),
        ForeignOption("--no-progress-meter", use: "-q"),
        ForeignOption("--socks5", "--socks5-hostname", use: "--proxy socks5://HOST or socks5h://HOST"),
        ForeignOption("--capath", use: "--cacert PATH reads one file"),
        ForeignOption("--location-trusted", use: "credentials are sent to their origin only"),
        ForeignOption("--retry-all-errors", "--retry-connrefused", use: "--retry N repeats after transient failures"),
        // HTTPie's
        ForeignOption("--verify", use: "-k accepts any certificate, --cacert PATH those of an authority"),
        ForeignOption("--download", use: "a command does it: download URL"),
        ForeignOption("--continue", use: "--resume"),
        ForeignOption("--stream", use: "the body is printed while it arrives anyway"),
        ForeignOption("--offline", use: "--as-curl prints the request instead of sending it"),
        ForeignOption("-j", use: "fields are sent as JSON by default"),
        ForeignOption("--body", use: "--print b, the default"),
        ForeignOption("--headers", use: "--print h"),
        ForeignOption("--meta", use: "--print m"),
        ForeignOption("--check-status", use: "the exit status is 2 anyway if the status isn't acceptable"),
        ForeignOption(
            "--pretty", "--style", "--format-options", "--sorted", "--unsorted",
            use: "JSON is formatted on a terminal; NO_COLOR=1 turns colours off"),
        ForeignOption("--raw", use: "-d DATA"),
        ForeignOption("--chunked", use: "-d @- sends standard input chunked"),
        ForeignOption("--auth-type", use: "--auth SCHEME"),
        ForeignOption("--cert-key", use: "--key PATH"),
        ForeignOption("--cert-key-pass", use: "--key-password P"),
        ForeignOption("--ssl", use: "--tls-min VERSION"),
    ]
}
