import FoundationEssentials
import SwiftAF

/// Makes the form that items describe, in their order. Files are opened when they are sent.
enum FormBuilder {
    static func form(of items: [Item]) throws(Failure) -> MultipartFormData {
        var form = MultipartFormData()
        for item in items { try append(item, to: &form) }
        guard !form.isEmpty else { throw Failure(UsageError("a form needs a field or a file")) }
        return form
    }

    private static func append(_ item: Item, to form: inout MultipartFormData) throws(Failure) {
        do {
            switch item {
            case .field(let name, let value):
                try form.append(Parameters([(name, Parameters(value))]), encoder: ParameterEncoder())
            case .fieldFromFile(let name, let path):
                try form.append(try InputFile.text(path), name: name)
            case .filePart(let name, let file):
                try append(file, name: name, to: &form)
            case .header, .removedHeader, .query: break
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as SessionError where error.code == .file {
            throw Failure(.input, .invalidInput, error.message)
        } catch let error as SessionError {
            throw Failure(error)
        } catch {
            throw Failure(.input, .invalidInput, "the body fields can't be written: \(error)")
        }
    }

    private static func append(_ file: FilePart, name: String, to form: inout MultipartFormData) throws {
        switch try InputFile.content(file.path) {
        case .file:
            try form.append(file: file.path, name: name, fileName: file.fileName, mediaType: file.mediaType)
        case .stream(let stream):
            let component = file.path.split(separator: "/").last.map(String.init)
            try form.append(
                once: stream, name: name, fileName: file.fileName ?? component,
                mediaType: file.mediaType ?? MediaType.octetStream.essence)
        }
    }
}
