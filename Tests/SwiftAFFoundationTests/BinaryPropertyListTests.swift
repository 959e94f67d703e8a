import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

/// Binary property lists that a hostile server makes byte for byte.
@Suite struct BinaryPropertyListTests {
    private let serializer = PropertyListResponseSerializer()

    /// A property list of encoded objects, the first of which is the root.
    ///
    /// - Parameter entries: The table of offsets as indexes of the objects; nil for each object once.
    private func list(_ objects: [[UInt8]], referenceWidth: UInt8 = 1, entries: [Int]? = nil) -> Data {
        var body = Array("bplist00".utf8)
        var places: [UInt32] = []
        for object in objects {
            places.append(UInt32(body.count))
            body += object
        }
        let table = UInt64(body.count)
        let entries = entries ?? Array(places.indices)
        for entry in entries { body += bigEndian(places[entry]) }
        body += [0, 0, 0, 0, 0, 0, 4, referenceWidth]
        body += bigEndian(UInt64(entries.count)) + bigEndian(UInt64(0)) + bigEndian(table)
        return Data(body)
    }

    private func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }

    /// A container (0xA0) or data (0x40) with its count as an integer.
    private func counted(_ kind: UInt8, _ count: Int, _ content: [UInt8]) -> [UInt8] {
        [kind | 15, 0x12] + bigEndian(UInt32(count)) + content
    }

    private func value(_ body: Data) -> Any? {
        let result = serializer.result(for: response(200, "application/x-plist"), body: body)
        #expect((result.value == nil) == (result.error != nil))
        if result.error != nil { #expect(codes(result.error) == [.serialization]) }
        return (result.value ?? nil)?.value
    }

    /// Arrays in arrays, each of which contains the next one so many times.
    private func nest(_ levels: Int, times: Int) -> Data {
        let arrays = (1...levels).map { level in
            [0xA0 | UInt8(times)] + Array(repeating: UInt8(level), count: times)
        }
        return list(arrays + [[0x09]])
    }

    @Test func refusesContainersThatAreCopiedOftenWithoutNeed() {
        #expect(
            value(nest(3, times: 2)) as? [[[Bool]]] == [
                [[true, true], [true, true]], [[true, true], [true, true]],
            ])
        let body = nest(21, times: 2)
        #expect(body.count < 250)
        #expect(value(body) == nil)
    }

    @Test func refusesALargeObjectThatIsCopiedOften() {
        let references = [UInt8](repeating: 1, count: 3000)
        let body = list([
            counted(0xA0, references.count, references),
            counted(0x50, 100_000, [UInt8](repeating: 0x78, count: 100_000)),
        ])
        #expect(value(body) == nil)
    }

    @Test func refusesObjectsThatOverlap() {
        // Each of 2000 objects is the same array of 2000 references.
        let array = counted(0xA0, 2000, (0..<2000).flatMap { _ in bigEndian(UInt16(2000)) })
        let entries = [Int](repeating: 0, count: 2000) + [1]
        #expect(value(list([array, [0x09]], referenceWidth: 2, entries: entries)) == nil)
        #expect((value(list([array, [0x09]], referenceWidth: 2, entries: [0, 1])) as? [Bool]) == nil)
        let one = counted(0xA0, 2000, (0..<2000).flatMap { _ in bigEndian(UInt16(1)) })
        #expect((value(list([one, [0x09]], referenceWidth: 2)) as? [Bool])?.count == 2000)
    }

    @Test func refusesContainersThatContainThemselves() {
        #expect(value(list([[0xA1, 0]])) == nil)
        #expect(value(list([[0xA1, 1], [0xA2, 2, 0], [0x09]])) == nil)
    }

    @Test func acceptsNestingToALimit() {
        #expect(value(nest(199, times: 1)) is [Any])
        #expect(value(nest(200, times: 1)) == nil)
    }

    @Test func readsWhatWritersShare() throws {
        // 2000 dictionaries with the same keys and values, each of which is stored once.
        let (count, width) = (2000, 20)
        let names = (0..<width).map { "a name of a member that has about forty characters \($0)" }
        let texts = (names + ["the same value in all of them"]).map { counted(0x50, $0.utf8.count, Array($0.utf8)) }
        let keys = (0..<width).flatMap { bigEndian(UInt16(count + 1 + $0)) }
        let values = (0..<width).flatMap { _ in bigEndian(UInt16(count + 1 + width)) }
        let root = counted(0xA0, count, (1...count).flatMap { bigEndian(UInt16($0)) })
        let member = counted(0xD0, width, keys + values)
        let body = list([root] + Array(repeating: member, count: count) + texts, referenceWidth: 2)
        let members = try #require(value(body) as? [[String: String]])
        #expect(members.count == count && members.last?.count == width)
        #expect(members.last?[names[7]] == "the same value in all of them")
        // Some writers store an array only once.
        #expect(value(list([[0xA2, 1, 1], [0xA1, 2], [0x09]])) as? [[Bool]] == [[true], [true]])
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, .signalingNaN])
    func refusesDatesThatAreNoTime(seconds: Double) {
        #expect(value(list([[0x33] + bigEndian(seconds.bitPattern)])) == nil)
    }

    @Test(arguments: [0, -1e10, 7e8, 1e300, -1e300, .greatestFiniteMagnitude] as [Double])
    func datesThatAreReadCanBePrinted(seconds: Double) throws {
        let date = try #require(value(list([[0x33] + bigEndian(seconds.bitPattern)])) as? Date)
        #expect(date.timeIntervalSinceReferenceDate == seconds)
        #expect(!"\(date)".isEmpty && !date.debugDescription.isEmpty)
    }

    @Test func refusesCountsBeyondTheEnd() {
        for kind: UInt8 in [0x40, 0x50, 0x60, 0xA0, 0xD0] {
            #expect(value(list([counted(kind, 1 << 30, [])])) == nil)
            #expect(value(list([[kind | 15, 0x13] + bigEndian(UInt64.max)])) == nil)
            #expect(value(list([[kind | 14]])) == nil)
        }
    }
}
