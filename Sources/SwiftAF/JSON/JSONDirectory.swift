/// The positions of an object's values in a ``JSONTape``, by the names of the members. Used for objects whose text
/// isn't searched for names; see ``JSONMembers/isSearchable``.
///
/// A class, so that a decoder checks quickly whether it has one.
final class JSONDirectory {
    /// The positions, as numbers. ``JSONObject`` is used because it compares keys by the rules of JSON and finds them
    /// quickly among many.
    private let positions: JSONObject

    /// - Parameter keepsRepeats: Whether repeated names stay. If false, the last position of a name replaces the
    ///   others.
    convenience init(_ members: [(name: String, position: Int)], keepsRepeats: Bool) {
        let entries = members.map { JSONObject.Entry(key: $0.name, value: .integer(Int64($0.position))) }
        self.init(JSONObject(entries: entries, keepsRepeats: keepsRepeats))
    }

    private init(_ positions: JSONObject) {
        self.positions = positions
    }

    /// Returns a directory with other names. If names become the same, the last position is used.
    func mapNames(_ transform: (String) -> String) -> JSONDirectory {
        JSONDirectory(positions.mapKeys(transform))
    }

    var hasRepeats: Bool { positions.hasRepeats }

    /// The names in order, without repetitions.
    var names: [String] { positions.uniqueKeys }

    /// Returns the position of a member's value; the last one if the name is repeated. Fastest if the member is the
    /// expected one.
    ///
    /// - Parameter next: The index of the expected member: 0 at first, then the value that the previous call has set.
    func position(of name: String, next: inout Int) -> Int? {
        guard let index = positions.position(of: name, expectedAt: next) else { return nil }
        next = index + 1
        return positions[index].value.int
    }
}
