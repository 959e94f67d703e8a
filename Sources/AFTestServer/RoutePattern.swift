import CAFTestServer

/// The method and the path of a pattern such as "GET /users/*".
struct RoutePattern {
    let method: String?
    let path: String

    /// A pattern that matches no request is a programming error: a test would see the answers of the fallback.
    init(_ pattern: String) {
        let words = pattern.split(separator: " ", maxSplits: 1)
        method = words.count == 2 ? String(words[0]) : nil
        path = String(words.last ?? "")
        Self.require(method == method?.uppercased(), pattern)
        guard path.hasPrefix("/") else { return }
        var known = ""
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            precondition(
                !segment.hasPrefix(":") && !segment.hasPrefix("{"),
                """
                the pattern "\(pattern)" has a placeholder, which patterns don't have: \
                "\(known)/*" matches all paths that begin with "\(known)/"
                """)
            known += "/\(segment)"
        }
    }

    /// The pattern as C takes it, for waits. As for routes, one that matches no request is a programming error.
    var text: String {
        let text = method.map { "\($0) \(path)" } ?? path
        var matches = false
        let status = "/".withCString { anything in
            var request = afts_request()
            (request.method, request.target) = (anything, anything)
            return afts_request_matches(&request, method, path, &matches)
        }
        Self.require(status == AFTS_OK, text)
        return text
    }

    static func require(_ isPossible: Bool, _ pattern: String) {
        precondition(
            isPossible,
            "the pattern \"\(pattern)\" matches no request: give a path such as \"/users\", or \"GET /users\"")
    }
}

extension TestServer {
    /// The requests received so far that match a pattern, in order.
    ///
    /// ```swift
    /// #expect(server.requests(matching: "GET /users/*").count == 2)
    /// ```
    ///
    /// - Parameter pattern: A pattern as in ``route(_:times:_:)``. It needn't be that of a route.
    public func requests(matching pattern: String) -> [Request] {
        let route = RoutePattern(pattern)
        var all: [Request] = []
        var index = 0
        while let copy = afts_copy_request(pointer, index) {
            defer { afts_request_free(copy) }
            var matches = false
            let status = afts_request_matches(copy, route.method, route.path, &matches)
            RoutePattern.require(status == AFTS_OK, pattern)
            if matches { all.append(Request(copy.pointee)) }
            index += 1
        }
        return all
    }
}
