/// The destination of a response's body.
enum BodyDestination: Sendable {
    /// The body is collected, for a report or a picture.
    case memory
    /// The body is printed while it is received.
    case output(ResponsePrinter)
    /// The body is written to a file; heads and metrics are printed to standard output.
    case file(FileTarget, beside: ResponsePrinter?)
    /// The body is written to a pipe or a descriptor of the process while it is received.
    case pipe(ResponsePrinter, beside: ResponsePrinter?)

    var file: FileTarget? {
        if case .file(let file, _) = self { file } else { nil }
    }

    /// Prints the body while it is received.
    var bodyPrinter: ResponsePrinter? {
        switch self {
        case .output(let printer), .pipe(let printer, _): printer
        case .memory, .file: nil
        }
    }

    /// Prints to standard output what isn't written to the file or the pipe.
    var printerBeside: ResponsePrinter? {
        switch self {
        case .file(_, let beside), .pipe(_, let beside): beside
        case .memory, .output: nil
        }
    }

    /// Prints the heads and the metrics.
    var printerOfParts: ResponsePrinter? { printerBeside ?? bodyPrinter }
}
