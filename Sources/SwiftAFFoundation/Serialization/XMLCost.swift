import SwiftAF

/// Counts the parts of a document that make libxml2 take more than linear time, or much more memory than the size of
/// the document. libxml2 searches for a prefix in all namespaces in scope, and for a namespace in all enclosing
/// elements.
struct XMLCost {
    /// The maximum size in bytes of UTF-8. libxml2 stops with an internal error beyond it (XML_MAX_LOOKUP_LIMIT).
    static let maximumSize = 10_000_000
    /// The maximum number of nodes: elements, attributes, comments, instructions. A tree takes about 250 bytes for
    /// each, an element of four bytes included.
    static let maximumNodeCount = 1_000_000
    /// The maximum nesting. Less than the depth at which libxml2 stops building a tree, which makes Foundation crash.
    static let maximumDepth = 200
    /// The maximum number of namespaces that an element and its enclosing elements declare together.
    static let maximumNamespaceCount = 256
    /// The maximum number of attributes of an element, each of which libxml2 compares with all others. Rows of
    /// databases have up to a thousand.
    static let maximumAttributeCount = 1024

    /// For each open element, the number of namespaces that it declares.
    private var namespaces: [Int] = []
    private var namespaceCount = 0
    private var nodeCount = 0

    var depth: Int { namespaces.count }

    /// - Throws: `cancelled` if the Swift task is cancelled: a document may take seconds.
    mutating func begin(_ attributes: [String: String]) throws(SessionError) {
        guard !Task.isCancelled else { throw SessionError(.cancelled) }
        try addNodes(1 + attributes.count)
        let count = attributes.keys.count { $0 == "xmlns" || $0.hasPrefix("xmlns:") }
        namespaces.append(count)
        namespaceCount += count
        guard depth <= Self.maximumDepth else {
            throw Self.error("elements are nested more than \(Self.maximumDepth) deep")
        }
        guard namespaceCount <= Self.maximumNamespaceCount else {
            throw Self.error("an element has more than \(Self.maximumNamespaceCount) namespaces in scope")
        }
    }

    mutating func addNodes(_ count: Int = 1) throws(SessionError) {
        nodeCount += count
        guard nodeCount <= Self.maximumNodeCount else {
            throw Self.error("the document has more than \(Self.maximumNodeCount) elements, attributes and comments")
        }
    }

    mutating func end() {
        namespaceCount -= namespaces.popLast() ?? 0
    }

    static func error(_ message: String) -> SessionError {
        SessionError(.serialization, message: message)
    }
}
