import Testing

@testable import SwiftAF

/// Fields as they were received must be equal to the same fields as texts for every caller.
@Suite struct ReceivedFieldsTests {
    private static let heads: [[(String, [UInt8])]] = [
        [],
        [("Content-Type", Array("text/plain".utf8))],
        [("A", []), ("a", Array("1".utf8)), ("B", Array("2".utf8)), ("A", Array("3".utf8))],
        [("Set-Cookie", Array("a=1".utf8)), ("set-cookie", Array("b=2".utf8))],
        [("Name", Array("é".utf8)), ("Latin", [0x66, 0xE9]), ("Empty", [])],
        [("Broken", [0xC3]), ("Long", Array(repeating: UInt8(ascii: "x"), count: 100_000))],
        (0..<300).map { ("Field-\($0 % 7)", Array("value \($0)".utf8)) },
    ]

    private static let names = [
        "Content-Type", "content-type", "A", "b", "Set-Cookie", "Name", "Latin", "Empty", "Broken", "Long", "Field-3",
        "FIELD-6", "Missing", "", "Field", "Näme",
    ]

    private func received(_ head: [(String, [UInt8])]) -> HTTPHeaders {
        var bytes: [UInt8] = []
        for (name, value) in head { bytes += Array(name.utf8) + value }
        return bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            var parts: [ReceivedFields.Source] = []
            for (name, value) in head {
                let middle = start + name.utf8.count
                parts.append(
                    (
                        name: UnsafeBufferPointer(rebasing: bytes[start..<middle]),
                        value: UnsafeBufferPointer(rebasing: bytes[middle..<(middle + value.count)])
                    ))
                start = middle + value.count
            }
            return HTTPHeaders(ReceivedFields(count: head.count) { parts[$0] })
        }
    }

    private func texts(_ head: [(String, [UInt8])]) -> HTTPHeaders {
        HTTPHeaders(
            head.map { name, value in
                var name = name
                return name.withUTF8 { name in
                    value.withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
                }
            })
    }

    @Test(arguments: heads.indices) func readsAsTextsDo(index: Int) {
        let (received, texts) = (received(Self.heads[index]), texts(Self.heads[index]))
        #expect(received == texts)
        #expect(received.hashValue == texts.hashValue)
        #expect(received.count == texts.count)
        #expect(Array(received) == texts.fields)
        #expect(received.indices.map { received[$0] } == texts.fields)
        #expect(received.fields.map(\.rawValue) == Self.heads[index].map(\.1))
        for name in Self.names {
            #expect(received[name] == texts[name])
            #expect(received.first(named: name) == texts.first(named: name))
            #expect(received.values(named: name) == texts.values(named: name))
            #expect(received.contains(named: name) == texts.contains(named: name))
        }
    }

    @Test(arguments: heads.indices) func changesAsTextsDo(index: Int) {
        let changes: [(inout HTTPHeaders) -> Void] = [
            { $0.add(name: "A", value: "new") }, { $0.remove(named: "a") }, { $0["Set-Cookie"] = "c=3" },
            { $0["Field-2"] = nil }, { $0.suppressDefault("Content-Type") },
            { $0.fillGaps(from: ["B": "9", "N": "1"]) },
            { $0.merge(["Name": "other", "A": "7"]) }, { $0.set(name: "Empty", value: "full", isSecret: true) },
        ]
        for change in changes {
            let former = received(Self.heads[index])
            var (received, texts) = (former, texts(Self.heads[index]))
            change(&received)
            change(&texts)
            #expect(received == texts)
            #expect(former == self.texts(Self.heads[index]), "a copy has changed with it")
        }
    }

    /// In quadratic time this would take hours.
    @Test(.timeLimit(.minutes(10))) func manyFieldsAreReadFromTheEnd() {
        let count = 300_000
        let name = Array("a".utf8)
        let headers = name.withUnsafeBufferPointer { name in
            HTTPHeaders(ReceivedFields(count: count) { _ in (name: name, value: name) })
        }
        #expect(headers.reversed().allSatisfy { $0.value == "a" })
        #expect(headers.indices.reversed().allSatisfy { headers[$0].name == "a" })
        #expect(headers.suffix(count / 2).count == count / 2)
    }

    @Test func everyByteIsKept() {
        let value = (1...255).map { UInt8($0) }
        #expect(received([("All", value)]).fields.first?.rawValue == value)
        #expect(received([("All", value)])["all"]?.unicodeScalars.map(\.value) == value.map(UInt32.init))
    }
}
