import FoundationEssentials
import SwiftAF
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MultipartFormDataTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// What the form is on the wire.
    private func wire(_ form: MultipartFormData) async throws -> String {
        let path = folder.file("wire")
        try await form.write(to: URL(filePath: path))
        let bytes = try contents(of: path)
        if let length = try form.length() { #expect(length == bytes.count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func writesEveryKindOfPart() async throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append(Data("1".utf8), name: "data")
        try form.append("ünï", name: "text")
        try form.append(Data("<p>".utf8), name: "file", fileName: "a \"b\".html", mediaType: "text/html")
        try form.append(file: folder.file("pin.cer", text: "DER"), name: "certificate")
        try form.append(
            file: URL(filePath: folder.file("x", text: "X")), name: "url", fileName: "y.bin", mediaType: "a/b")
        try form.append(length: 5, name: "stream", fileName: "s", mediaType: "c/d") {
            Chunks(chunks: ["ab", "", "cde"])
        }
        try form.append(headers: ["X-Second": "2", "A-First": "1"], body: Data("raw".utf8))
        let expected = """
            --B
            Content-Disposition: form-data; name="data"

            1
            --B
            Content-Disposition: form-data; name="text"

            ünï
            --B
            Content-Disposition: form-data; name="file"; filename="a %22b%22.html"
            Content-Type: text/html

            <p>
            --B
            Content-Disposition: form-data; name="certificate"; filename="pin.cer"
            Content-Type: application/x-x509-ca-cert

            DER
            --B
            Content-Disposition: form-data; name="url"; filename="y.bin"
            Content-Type: a/b

            X
            --B
            Content-Disposition: form-data; name="stream"; filename="s"
            Content-Type: c/d

            abcde
            --B
            X-Second: 2
            A-First: 1

            raw
            --B--

            """.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        #expect(try await wire(form) == expected)
        #expect(form.count == 7)
        #expect(form.contentType.description == "multipart/form-data; boundary=B")
    }

    @Test func unknownExtensionUsesOctetStream() async throws {
        var form = MultipartFormData()
        try form.append(file: folder.file("noextension", text: ""), name: "f")
        #expect(try await wire(form).contains("\r\nContent-Type: application/octet-stream\r\n"))
    }

    @Test(
        arguments: [
            ("ada.jpg", "image/jpeg"), ("a.b.JSON", "application/json"), ("ada", "application/octet-stream"),
            ("a.", "application/octet-stream"), (".", "application/octet-stream"),
        ])
    func fileNameDeterminesTypeOfBytes(fileName: String, type: String) async throws {
        var form = MultipartFormData()
        try form.append(Data("x".utf8), name: "f", fileName: fileName)
        #expect(try await wire(form).contains("\r\nContent-Type: \(type)\r\n\r\nx"))
    }

    @Test func streamOfUnknownLengthLeavesFormLengthUnknown() async throws {
        var form = MultipartFormData()
        try form.append(name: "s") { Chunks(chunks: ["a", "b"]) }
        #expect(try form.length() == nil)
        #expect(try await wire(form).contains("\r\n\r\nab\r\n"))
    }

    @Test func boundariesAreRandomAndKeptByCopies() {
        let forms = (0..<100).map { _ in MultipartFormData() }
        #expect(Set(forms.map(\.boundary)).count == 100)
        for form in forms {
            #expect(form.boundary.utf8.count == 9 + 32)
            #expect(form.contentType.description == "multipart/form-data; boundary=\(form.boundary)")
        }
        let copy = forms[0]
        #expect(copy.boundary == forms[0].boundary)
    }

    @Test(arguments: ["", "a b", "a\r\nb", "a\0b", "é", String(repeating: "x", count: 71)])
    func refusesInvalidBoundaries(boundary: String) {
        expectCode(.invalidInput) { try MultipartFormData(boundary: boundary) }
    }

    @Test func refusesChosenBoundaryThatOccursInData() throws {
        var form = try MultipartFormData(boundary: "B")
        expectCode(.invalidInput) { try form.append("x\r\n--B\r\n", name: "a") }
        expectCode(.invalidInput) { try form.append("x", name: "--B") }
        #expect(form.isEmpty)
        var random = MultipartFormData()
        try random.append("--B", name: "a")
    }

    @Test(arguments: ["a\r\nX: y", "a\n", "\r", "a\0"])
    func refusesLineBreaksAndNULInHeaders(text: String) throws {
        var form = MultipartFormData()
        let path = try folder.file("a", text: "x")
        let attempts: [(inout MultipartFormData) throws -> Void] = [
            { try $0.append("x", name: text) },
            { try $0.append(Data(), name: "n", fileName: text, mediaType: "a/b") },
            { try $0.append(Data(), name: "n", fileName: "f", mediaType: text) },
            { try $0.append(Data(), name: "n", fileName: "f", mediaType: "a/b", headers: ["X": text]) },
            { try $0.append(Data(), name: "n", fileName: "f", mediaType: "a/b", headers: [text: "X"]) },
            { try $0.append(file: path, name: text) },
            { try $0.append(file: path, name: "n", fileName: text) },
            { try $0.append(name: text) { Chunks(chunks: []) } },
            { try $0.append(headers: ["X": text], body: Data()) },
            { try $0.append(headers: [text: "X"], body: Data()) },
        ]
        for (index, attempt) in attempts.enumerated() {
            let error = #expect(throws: SessionError.self, "\(index)") { try attempt(&form) }
            #expect(error?.code == .invalidInput, "\(index)")
        }
        #expect(form.isEmpty)
    }

    @Test func refusesInvalidFilesRangesAndLengths() throws {
        var form = MultipartFormData()
        let missing = #expect(throws: SessionError.self) { try form.append(file: "\(folder.path)/no", name: "f") }
        #expect(missing?.code == .file)
        #expect(missing?.systemError == 2)
        expectCode(.file) { try form.append(file: folder.path, name: "f") }
        expectCode(.invalidInput) { try form.append(file: "", name: "f") }
        expectCode(.invalidInput) { try form.append(file: "/etc/passwd\0.png", name: "f") }
        let remote = try #require(URL(string: "https://example.org/a.png"))
        expectCode(.invalidInput) { try form.append(file: remote, name: "f") }
        let path = try folder.file("short", text: "0123")
        expectCode(.file) { try form.append(file: path, range: 2..<5, name: "f") }
        expectCode(.invalidInput) { try form.append(file: path, range: -1..<2, name: "f") }
        expectCode(.invalidInput) { try form.append(file: path, range: .min ..< .max, name: "f") }
        let chunks = AsyncStream<Data> { $0.finish() }
        expectCode(.invalidInput) { try form.append(once: chunks, length: -1, name: "f") }
        expectCode(.invalidInput) { try form.append(length: .min, name: "f") { chunks } }
        #expect(form.isEmpty)
    }

    /// Also without an encoder, which would find it only when the form is sent.
    @Test func refusesLiteralOfUnsendableValueAtOnce() throws {
        final class Thing: Sendable {}
        var form = MultipartFormData()
        let encoders: [(any DataEncoder)?] = [nil, JSONCoder()]
        for encoder in encoders {
            for literal in [
                ["a": Thing()], ["a": ["b": [1, Thing()]]], [Thing()],
                ["a": Parameters.set([.array([["c": Thing()]])])],
            ] as [Parameters] {
                let error = #expect(throws: SessionError.self) {
                    try form.append(json: literal, name: "a", encoder: encoder)
                }
                #expect(error?.code == .invalidInput && error?.message.contains("Thing") == true)
            }
        }
        #expect(form.isEmpty)
        try form.append(json: ["a": [nil, 1, "x"]], name: "a")
        #expect(!form.isEmpty)
    }

    @Test func rangesOfFilesAllowLaterGrowth() async throws {
        let path = try folder.file("log", text: "0123456789")
        var form = MultipartFormData()
        try form.append(file: path, range: 3..<6, name: "f")
        try form.append(file: path, range: 10..<10, name: "g")
        try form.append(file: URL(filePath: path), range: 3..<6, name: "h")
        _ = try folder.file("log", text: "0123456789abc")
        #expect(try await wire(form).contains("\r\n\r\n345\r\n--"))
    }

    @Test(arguments: [nil, "012", "01234"])
    func failsForFileWhoseSizeChanged(content: String?) async throws {
        let path = try folder.file("a", text: "0123")
        var form = MultipartFormData()
        try form.append(file: path, name: "f")
        if let content {
            _ = try folder.file("a", text: content)
        } else {
            try FileManager.default.removeItem(atPath: path)
        }
        expectCode(.file) { try form.length() }
        let error = await #expect(throws: SessionError.self) { try await form.write(to: folder.file("wire")) }
        #expect(error?.code == .file)
        #expect(error?.message.contains(path) == true)
        #expect(try folder.names == (content == nil ? [] : ["a"]))
    }

    @Test func copiesOfFormAreIndependent() async throws {
        var form = MultipartFormData()
        try form.append("1", name: "a")
        var copy = form
        try copy.append("2", name: "b")
        #expect(form.count == 1)
        #expect(copy.count == 2)
        #expect("\(form)" == "form of 1 parts")
    }

    @Test func refusesMoreThan10000Parts() throws {
        var form = MultipartFormData()
        for _ in 0..<10_000 { try form.append("", name: "") }
        expectCode(.tooLarge) { try form.append("", name: "") }
        expectCode(.tooLarge) {
            var form = MultipartFormData()
            try form.append("", name: String(repeating: "x", count: 70_000))
        }
    }

    @Test func findsMediaTypeByPathExtension() {
        #expect(MediaType(pathExtension: "cer")?.essence == "application/x-x509-ca-cert")
        #expect(MediaType(pathExtension: "JPG")?.essence == "image/jpeg")
        #expect(MediaType(pathExtension: "nosuchthing") == nil)
        #expect(MediaType(pathExtension: "") == nil)
    }

    @Test func writingReplacesFileOnlyWhenComplete() async throws {
        let path = try folder.file("form", text: "before")
        var failing = MultipartFormData()
        try failing.append(name: "s") { Chunks(chunks: ["a"], fails: true) }
        let error = await #expect(throws: SessionError.self) { try await failing.write(to: path) }
        #expect(error?.code == .bodySource)
        #expect(error?.underlying as? ChunksFailure == ChunksFailure())
        #expect(try contents(of: path) == Data("before".utf8))
        var form = MultipartFormData()
        try form.append("1", name: "a")
        try await form.write(to: path)
        #expect(try contents(of: path).count == form.length().map(Int.init))
        #expect(try folder.names == ["form"])
        await expectCode(.file) { try await form.write(to: "\(folder.path)/no/form") }
        await expectCode(.file) { try await form.write(to: folder.path) }
        await expectCode(.invalidInput) { try await form.write(to: "") }
        #expect(try folder.names == ["form"])
    }

    @Test func cancelsWritingOfStalledStream() async throws {
        let (stream, started) = (AsyncStream<Data>.makeStream(), Recorder<Void>())
        var form = MultipartFormData()
        try form.append(name: "s") {
            started.record(())
            return stream.stream
        }
        let task = Task { [form, folder] in try await form.write(to: folder.file("form")) }
        await started.wait()
        task.cancel()
        await expectCode(.cancelled) { try await task.value }
        #expect(try folder.names.isEmpty)
    }
}
