/// Where the values of an object's members are in a ``JSONTape``, by their names: for objects whose text can't be
/// searched for a name, see ``JSONMembers/isSearchable``.
///
/// A class, so that a decoder without one asks for it quickly.
final class JSONDirectory {
    /// The positions, as integers: an object compares keys as JSON does, and finds them quickly among many.
    private let positions: JSONObject

    /// - Parameter keepsRepeats: Whether repeated names stay. Otherwise the last position of a name replaces the others.
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

    /// Returns the position of a member's value; the last one if the name is repeated. Quicker than a search if the
    /// member is the expected one.
    ///
    /// - Parameter next: The index of the expected member: 0, or what an earlier call left there.
    func position(of name: String, next: inout Int) -> Int? {
        guard let index = positions.position(of: name, expectedAt: next) else { return nil }
        next = index + 1
        return positions[index].value.int
    }
}
