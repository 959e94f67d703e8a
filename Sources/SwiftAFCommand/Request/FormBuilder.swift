import FoundationEssentials
import SwiftAF

/// Builds a form from items, in order. Files are opened when they are sent.
enum FormBuilder {
    /// - Parameters:
    ///   - input: The descriptor of standard input.
    ///   - boundary: The boundary of the user's Content-Type; nil for a random one.
    static func form(of items: [Item], input: Int32, boundary: String? = nil) throws(Failure) -> MultipartFormData {
        let inputs = items.filter { if case .filePart(_, let part) = $0 { part.readsInput } else { false } }
        guard inputs.count < 2 else {
            throw Failure(UsageError("only one part can be standard input: the others would be empty"))
        }
        var form = try empty(boundary)
        for item in items { try append(item, input, to: &form) }
        guard !form.isEmpty else {
            for case .field(let name, .json) in items { throw Failure(withoutParts(name)) }
            for case .jsonFromFile(let name, _) in items { throw Failure(withoutParts(name)) }
            throw Failure(UsageError("a form needs a field or a file"))
        }
        return form
    }

    /// The form would be empty, because an empty array or object has no elements that could be parts.
    private static func withoutParts(_ name: RawText) -> UsageError {
        UsageError("the form would be empty: '\(name.shown.printable)' is an empty array or object, which has no parts")
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
                try append(value, name: name, to: &form)
            case .fieldFromFile(let name, let path):
                try form.append(Data(try InputFile.text(path, isField: true).utf8), heading: heading(name))
            case .jsonFromFile(let name, let path):
                try append(try InputFile.json(path, of: name), name: name, to: &form)
            case .filePart(let name, let file):
                try append(file, name: name, input, to: &form)
            case .header, .headerFromFile, .removedHeader, .query, .queryFromFile: break
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as UsageError {
            throw Failure(error)
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

    /// Appends a number as written; an object or array as several parts.
    private static func append(_ value: JSONText, name: RawText, to form: inout MultipartFormData) throws {
        if let number = value.number { return try form.append(Data(number.utf8), heading: heading(name)) }
        let text = try name.text(of: "the name of a field with a JSON value")
        let parameters = Parameters([(text, Parameters(try JSONValue(parsing: value.bytes)))])
        try form.append(parameters, encoder: ParameterEncoder())
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
        case .textOfFile(let path): try append(Data(try InputFile.text(path).utf8), file, name, to: &form)
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
