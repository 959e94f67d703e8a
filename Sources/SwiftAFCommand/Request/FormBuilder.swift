import FoundationEssentials
import SwiftAF

extension Item {
    /// The name of the part that the item becomes; nil for what isn't a part.
    fileprivate var partName: RawText? {
        switch self {
        case .field(let name, _), .fieldFromFile(let name, _), .jsonFromFile(let name, _), .filePart(let name, _): name
        case .header, .headerFromFile, .removedHeader, .query, .queryFromFile: nil
        }
    }
}

/// Builds a form from items, in order. Files are opened when they are sent.
enum FormBuilder {
    /// - Parameters:
    ///   - input: The descriptor of standard input.
    ///   - boundary: The boundary of the user's Content-Type; nil for a random one.
    ///   - isPrintedOnly: Whether it isn't sent, so that standard input isn't read.
    static func form(
        of items: [Item], input: Int32, boundary: String? = nil, isPrintedOnly: Bool = false
    ) throws(Failure) -> MultipartFormData {
        let inputs = items.filter { if case .filePart(_, let part) = $0 { part.readsInput } else { false } }
        guard inputs.count < 2 else {
            throw Failure(UsageError("only one part can be standard input: the others would be empty"))
        }
        if !inputs.isEmpty, !isPrintedOnly { try InputFile.refuseUnreadable(input) }
        var form = try empty(boundary)
        for item in items { try append(item, input, to: &form) }
        guard !form.isEmpty else { throw Failure(UsageError("a form needs a field or a file")) }
        return form
    }

    private static func empty(_ boundary: String?) throws(Failure) -> MultipartFormData {
        guard let boundary else { return MultipartFormData() }
        do throws(SessionError) {
            return try MultipartFormData(boundary: boundary)
        } catch {
            throw Failure(error)
        }
    }

    private static func append(_ item: Item, _ input: Int32, to form: inout MultipartFormData) throws(Failure) {
        do {
            switch item {
            case .field(let name, .text(let value)):
                try form.append(Data(value.bytes), heading: heading(name))
            case .field(let name, .json(let value)):
                try form.append(Data(value.textInForm), heading: heading(name))
            case .fieldFromFile(let name, let path):
                try form.append(Data(try InputFile.text(path, as: .field).utf8), heading: heading(name))
            case .jsonFromFile(let name, let path):
                let value = try InputFile.json(path, of: name)
                try form.append(Data(value.textInForm), heading: heading(name))
            case .filePart(let name, let file):
                try append(file, name: name, input, to: &form)
            case .header, .headerFromFile, .removedHeader, .query, .queryFromFile: break
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as UsageError {
            throw Failure(error)
        } catch let error as SessionError where error.code == .invalidInput {
            throw Failure(
                .input, .invalidInput, "the part '\(item.partName?.shown.printable ?? "")': \(error.message)")
        } catch let error as SessionError where error.code == .file {
            throw Failure(.input, .invalidInput, error.message)
        } catch let error as SessionError {
            throw Failure(error)
        } catch {
            throw Failure(.input, .invalidInput, "the body fields can't be written: \(error)")
        }
    }

    private static func heading(_ name: RawText, fileName: RawText? = nil, mediaType: String? = nil) -> BodyForm.Heading
    {
        var heading = BodyForm.Heading(
            name: name.shown, fileName: fileName?.shown, mediaType: mediaType, headers: [:])
        heading.rawName = name.bytes
        heading.rawFileName = fileName?.bytes
        return heading
    }

    private static func append(
        _ file: FilePart, name: RawText, _ input: Int32, to form: inout MultipartFormData
    ) throws {
        switch file.source {
        case .file(let path):
            let component = RawText(path.bytes.split(separator: UInt8(ascii: "/")).last ?? [])
            let fileName = file.fileName ?? component
            switch try InputFile.content(path) {
            case .file:
                let type = file.mediaType ?? mediaType(of: component)
                let heading = heading(name, fileName: fileName, mediaType: type)
                try form.append(file: try InputFile.name(path), heading: heading)
            case .stream(let stream): try append(stream, file, name, fileName, to: &form)
            }
        case .standardInput:
            try append(ByteStream(descriptor: input), file, name, file.fileName ?? "-", to: &form)
        case .textOfInput:
            let heading = heading(
                name, fileName: file.fileName, mediaType: file.mediaType ?? file.fileName.flatMap(mediaType))
            try form.append(once: ByteStream(descriptor: input), heading: heading)
        case .text(let text): try append(Data(text.bytes), file, name, to: &form)
        case .textOfFile(let path): try append(Data(try InputFile.text(path, as: .field).utf8), file, name, to: &form)
        }
    }

    /// Appends what can be read once.
    private static func append(
        _ stream: ByteStream, _ file: FilePart, _ name: RawText, _ fileName: RawText, to form: inout MultipartFormData
    ) throws {
        let type = file.mediaType ?? file.fileName.flatMap(mediaType) ?? MediaType.octetStream.essence
        try form.append(once: stream, heading: heading(name, fileName: fileName, mediaType: type))
    }

    /// Appends text with metadata.
    private static func append(
        _ text: Data, _ file: FilePart, _ name: RawText, to form: inout MultipartFormData
    ) throws {
        let type = file.mediaType ?? file.fileName.flatMap(mediaType)
        try form.append(text, heading: heading(name, fileName: file.fileName, mediaType: type))
    }

    /// Returns the media type of the extension; nil if unknown.
    private static func mediaType(of fileName: RawText) -> String? {
        let parts = fileName.shown.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last else { return nil }
        return MediaType(pathExtension: String(last))?.essence
    }
}
