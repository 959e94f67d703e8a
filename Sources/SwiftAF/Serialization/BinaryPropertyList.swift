package import FoundationEssentials

/// Checks a binary property list before Foundation reads it. Some objects make Foundation crash the process. It also
/// copies an object each time that a container refers to it, so that a few bytes can describe gigabytes.
package struct BinaryPropertyList {
    /// Returns whether Foundation can read the data safely. True for data that isn't a binary property list, and for a
    /// list that contains only booleans, numbers, finite dates, data, strings, arrays and dictionaries, isn't too
    /// deeply nested, and whose copies don't take much more memory than the data. Sets and the identifiers of keyed
    /// archives (UIDs) are refused.
    package static func isHarmless(_ data: Data) -> Bool {
        guard isBinary(data) else { return true }
        return data.withUnsafeBytes { BinaryPropertyList($0)?.isHarmless ?? false }
    }

    /// Returns whether the data begins like any version of a binary property list.
    static func isBinary(_ data: Data) -> Bool { data.starts(with: "bplist".utf8) }

    /// The maximum nesting, as in XML.
    package static let maximumDepth = 200
    private static let trailerSize = 32
    /// The maximum ratio of the memory of all copies to the size of the data, for lists that refer to an object several
    /// times. A list of dictionaries whose keys and values are all the same needs about this much.
    private static let maximumGrowth = 32
    private static let spare = 1 << 20

    /// The approximate memory of a container and of a leaf, in bytes, without their content.
    private static let containerCost = 64
    private static let leafCost = 16

    private let bytes: UnsafeRawBufferPointer
    /// The number of bytes of an entry in the table of offsets, and of a reference to an object.
    private let offsetWidth: Int, referenceWidth: Int
    private let count: Int
    private let top: Int
    private let table: Int

    /// Reads the trailer; nil if it is invalid.
    private init?(_ bytes: UnsafeRawBufferPointer) {
        let trailer = bytes.count - Self.trailerSize
        guard trailer >= 0,
            let count = Self.number(in: bytes, at: trailer + 8, width: 8),
            let top = Self.number(in: bytes, at: trailer + 16, width: 8),
            let table = Self.number(in: bytes, at: trailer + 24, width: 8)
        else { return nil }
        offsetWidth = Int(bytes[trailer + 6])
        referenceWidth = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth), top < count, table <= bytes.count,
            count <= (bytes.count - table) / offsetWidth
        else { return nil }
        (self.bytes, self.count, self.top, self.table) = (bytes, count, top, table)
    }

    private struct Object {
        /// The size of the content in bytes; for a container, of its references.
        var size: Int
        var content: Int
        var isContainer: Bool

        /// The approximate memory of one copy, without the objects that a container refers to.
        var cost: Int { isContainer ? BinaryPropertyList.containerCost : BinaryPropertyList.leafCost + size }
    }

    private var isHarmless: Bool {
        var (extent, cost) = (0, 0)
        for index in 0..<count {
            guard let object = object(index) else { return false }
            // Refused, because objects that overlap would multiply the work below.
            extent += object.size + 1
            cost += object.cost
            guard extent <= bytes.count else { return false }
        }
        return isSmall(limit: max(cost, bytes.count * Self.maximumGrowth + Self.spare))
    }

    /// The sums over an object and everything that it contains.
    private struct Tree {
        /// The memory of all copies; 0 while unknown, -1 while the contained objects are being visited.
        var cost = 0
        var depth: Int32 = 0
    }

    /// Returns whether the copies take at most `limit` bytes, are nested no more deeply than the maximum, and don't
    /// contain themselves.
    private func isSmall(limit: Int) -> Bool {
        var trees = [Tree](repeating: Tree(), count: count)
        var path: [(index: Int, object: Object, next: Int, tree: Tree)] = []

        /// Begins to visit an object. Returns false if it is invalid or contains itself.
        func enter(_ index: Int) -> Bool {
            guard trees[index].cost == 0 else { return trees[index].cost > 0 }
            guard let object = object(index) else { return false }
            trees[index].cost = -1
            path.append((index, object, 0, Tree(cost: object.cost, depth: 1)))
            return true
        }

        guard enter(top) else { return false }
        while var visit = path.popLast() {
            if visit.object.isContainer, visit.next < visit.object.size {
                let place = visit.object.content + visit.next
                guard let child = Self.number(in: bytes, at: place, width: referenceWidth), child < count else {
                    return false
                }
                let tree = trees[child]
                if tree.cost > 0 {
                    visit.next += referenceWidth
                    visit.tree.cost += tree.cost
                    visit.tree.depth = max(visit.tree.depth, tree.depth + 1)
                    guard visit.tree.cost <= limit, visit.tree.depth <= Self.maximumDepth else { return false }
                    path.append(visit)
                } else {
                    path.append(visit)
                    guard path.count <= Self.maximumDepth, enter(child) else { return false }
                }
            } else {
                trees[visit.index] = visit.tree
            }
        }
        return trees[top].cost <= limit
    }

    /// Reads the object with this index; nil if it lies outside of the data, or isn't one that Foundation reads safely.
    private func object(_ index: Int) -> Object? {
        guard let place = Self.number(in: bytes, at: table + index * offsetWidth, width: offsetWidth),
            place < bytes.count
        else { return nil }
        let low = Int(bytes[place] & 15)
        switch bytes[place] >> 4 {
        case 0x0: return low == 8 || low == 9 ? leaf(at: place + 1, 0) : nil
        case 0x1, 0x2: return leaf(at: place + 1, 1 << low)
        case 0x3:
            guard low == 3, let bits = Self.number(in: bytes, at: place + 1, width: 8, as: UInt64.self),
                Double(bitPattern: bits).isFinite
            else { return nil }
            return leaf(at: place + 1, 8)
        case 0x4, 0x5: return counted(at: place, width: 1)
        case 0x6: return counted(at: place, width: 2)
        case 0xA: return counted(at: place, width: referenceWidth, isContainer: true)
        case 0xD: return counted(at: place, width: 2 * referenceWidth, isContainer: true)
        default: return nil
        }
    }

    private func leaf(at content: Int, _ size: Int) -> Object? {
        size <= bytes.count - content ? Object(size: size, content: content, isContainer: false) : nil
    }

    /// Reads an object with a count. The count is in the first byte or, as an integer object, behind it.
    private func counted(at place: Int, width: Int, isContainer: Bool = false) -> Object? {
        var (count, content) = (Int(bytes[place] & 15), place + 1)
        if count == 15 {
            guard content < bytes.count, bytes[content] >> 4 == 0x1, bytes[content] & 15 <= 3 else { return nil }
            let size = 1 << Int(bytes[content] & 15)
            guard let number = Self.number(in: bytes, at: content + 1, width: size) else { return nil }
            (count, content) = (number, content + 1 + size)
        }
        guard count <= (bytes.count - content) / width else { return nil }
        return Object(size: count * width, content: content, isContainer: isContainer)
    }

    /// Reads a big-endian integer of `width` bytes. Nil if it lies outside of the data, or is too large.
    private static func number<Number: FixedWidthInteger>(
        in bytes: UnsafeRawBufferPointer, at start: Int, width: Int, as type: Number.Type = Int.self
    ) -> Number? {
        guard start >= 0, start <= bytes.count - width else { return nil }
        return Number(exactly: bytes[start..<(start + width)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
