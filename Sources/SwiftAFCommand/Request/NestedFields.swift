import SwiftAF

/// Builds a JSON object from body fields. `a[b]=1` is a member of an object, `a[]=1` an element of an array, `a[2]=1`
/// the element at an index. Repeated names without brackets stay repeated, in order. `[]=1` or `[2]=1` without a name
/// makes the whole value an array.
struct NestedFields {
    private indirect enum Node {
        case value(JSONText)
        case object([(name: String, node: Node)])
        case array([Node?])

        var kind: Kind {
            switch self {
            case .value: .value
            case .object: .object
            case .array: .array
            }
        }
    }

    /// What a name stands for, as messages say it.
    private enum Kind: String {
        case value = "a value"
        case object = "an object"
        case array = "an array"
    }

    private enum Step {
        case name(String)
        case append
        case index(Int)

        /// The kind of value that the step leads into.
        var container: Kind {
            switch self {
            case .name: .object
            case .append, .index: .array
            }
        }
    }

    private static let maximumElements = 10_000
    private var members: [(name: String, node: Node)] = []
    /// The whole value, if the fields have no name.
    private var root: Node?

    /// Adds a field. A backslash before a bracket makes it part of the name.
    mutating func add(_ key: String, _ value: JSONText) throws(UsageError) {
        guard let (name, steps) = Self.parse(key) else {
            throw UsageError("invalid name '\(key.printable)': expected a[b], a[] or a[0]; \\[ is a bracket in a name")
        }
        let depth = (name.isEmpty && !steps.isEmpty ? 0 : 1) + steps.count + value.depth
        guard depth <= JSONValue.maximumDepth else {
            throw UsageError(
                """
                the field '\(ASCII.printable(key, limit: 20))' makes JSON with \(depth) levels of arrays and objects: \
                expected at most \(JSONValue.maximumDepth)
                """)
        }
        guard !name.isEmpty || steps.isEmpty else {
            root = try Self.insert(value, at: steps[...], into: root ?? (members.isEmpty ? nil : .object(members)), key)
            return
        }
        guard root == nil else { throw UsageError("'\(key.printable)' contradicts an earlier field without a name") }
        let place = members.lastIndex { Self.areSame($0.name, name) }
        guard !steps.isEmpty else {
            // Values may be repeated.
            if let place { try Self.refuse(.value, besides: members[place].node, key) }
            return members.append((name, .value(value)))
        }
        let node = try Self.insert(value, at: steps[...], into: place.map { members[$0].node }, key)
        if let place { members[place].node = node } else { members.append((name, node)) }
    }

    /// The object or array. Elements of arrays that were skipped are null.
    var json: JSONText { Self.text(root ?? .object(members)) }

    /// Compares bytes (RFC 8259, section 8.3). `==` would also match canonically equivalent names.
    private static func areSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    private static func text(_ node: Node) -> JSONText {
        switch node {
        case .value(let text): text
        case .object(let members): .object(members.map { ($0.name, text($0.node)) })
        case .array(let elements): .array(elements.map { $0.map(text) ?? .null })
        }
    }

    private static func insert(
        _ value: JSONText, at steps: ArraySlice<Step>, into node: Node?, _ key: String
    ) throws(UsageError) -> Node {
        guard let step = steps.first else {
            if let node {
                try refuse(.value, besides: node, key)
                throw UsageError("'\(key.printable)' is given twice")
            }
            return .value(value)
        }
        let rest = steps.dropFirst()
        switch (step, node) {
        case (.name(let name), nil):
            return .object([(name, try insert(value, at: rest, into: nil, key))])
        case (.name(let name), .object(var members)?):
            let place = members.firstIndex { areSame($0.name, name) }
            let inner = try insert(value, at: rest, into: place.map { members[$0].node }, key)
            if let place { members[place].node = inner } else { members.append((name, inner)) }
            return .object(members)
        case (.append, nil):
            return .array([try insert(value, at: rest, into: nil, key)])
        case (.append, .array(let elements)?):
            guard elements.count < maximumElements else { throw UsageError("'\(key.printable)' has too many elements") }
            return .array(elements + [try insert(value, at: rest, into: nil, key)])
        case (.index(let index), nil):
            return try insert(value, at: steps, into: .array([]), key, index)
        case (.index(let index), .array?):
            return try insert(value, at: steps, into: node, key, index)
        default: throw contradiction(step.container, node?.kind ?? .value, key)
        }
    }

    /// Refuses a field that needs a value of one kind where an earlier field made another kind.
    private static func refuse(_ kind: Kind, besides node: Node, _ key: String) throws(UsageError) {
        if node.kind != kind { throw contradiction(kind, node.kind, key) }
    }

    private static func contradiction(_ kind: Kind, _ former: Kind, _ key: String) -> UsageError {
        UsageError(
            "'\(key.printable)' contradicts an earlier field: \(former.rawValue) can't also be \(kind.rawValue)")
    }

    private static func insert(
        _ value: JSONText, at steps: ArraySlice<Step>, into node: Node?, _ key: String, _ index: Int
    ) throws(UsageError) -> Node {
        guard case .array(var elements)? = node, index < maximumElements else {
            throw UsageError("the index in '\(key.printable)' is too large: expected 0 to \(maximumElements - 1)")
        }
        while elements.count <= index { elements.append(nil) }
        elements[index] = try insert(value, at: steps.dropFirst(), into: elements[index], key)
        return .array(elements)
    }

    /// Splits `a[b][]` into its name and steps; nil if the brackets don't match. Looks for brackets among Unicode
    /// scalars: one with a combining mark behind it is another character.
    private static func parse(_ key: String) -> (name: String, steps: [Step])? {
        var (name, steps, step) = ("", [Step](), String?.none)
        var isEscaped = false
        for character in key.unicodeScalars {
            if isEscaped {
                isEscaped = false
                if character != "[", character != "]" { append("\\", to: &step, &name) }
                append(character, to: &step, &name)
                continue
            }
            switch character {
            case "\\": isEscaped = true
            case "[" where step == nil: step = ""
            case "]" where step != nil:
                let text = step ?? ""
                steps.append(Self.step(text))
                step = nil
            case "[", "]": return nil
            default:
                if step == nil, !steps.isEmpty { return nil }
                append(character, to: &step, &name)
            }
        }
        if isEscaped { append("\\", to: &step, &name) }
        return step == nil ? (name, steps) : nil
    }

    /// Returns the step for the text between brackets. As in HTTPie, a backslash before a number makes it a name.
    private static func step(_ text: String) -> Step {
        if text.isEmpty { return .append }
        if text.hasPrefix("\\"), Int(text.dropFirst()) != nil { return .name(String(text.dropFirst())) }
        return Int(text).flatMap { $0 >= 0 ? .index($0) : nil } ?? .name(text)
    }

    private static func append(_ character: Unicode.Scalar, to step: inout String?, _ name: inout String) {
        if step == nil { name.unicodeScalars.append(character) } else { step?.unicodeScalars.append(character) }
    }
}
