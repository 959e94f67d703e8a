internal import CAFCore

/// The core's rules for URLs: splitting, validity, resolution of references, origins and file names.
package enum CoreURL {
    /// Checks whether a URL is valid for a request.
    ///
    /// - Throws: ``SessionError/Code/invalidInput``, with a message that names the invalid part.
    static func check(_ url: String) throws(SessionError) {
        // Called first without an error, because the struct is large and rarely needed.
        if url.withCoreSlice({ afc_url_check($0, nil) }) == .AFC_OK { return }
        var failure = afc_failure()
        _ = url.withCoreSlice { afc_url_check($0, &failure) }
        throw SessionError(failure, url: url)
    }

    /// Resolves a reference (RFC 3986 5.2) without normalising anything else.
    static func resolve(_ reference: String, against base: String) -> String {
        base.withCoreSlice { base in
            reference.withCoreSlice { reference in
                // The result has at most the bytes of both texts and two separators.
                write(base.size + reference.size + 2) { afc_url_resolve($0, $1, base, reference) }
            }
        }
    }

    /// Appends a percent-encoded query to a URL, after its own query and before its fragment.
    package static func append(query: String, to url: String) -> String {
        url.withCoreSlice { url in
            query.withCoreSlice { query in
                write(url.size + query.size + 1) { afc_url_append_query($0, $1, url, query) }
            }
        }
    }

    /// Returns the http or https URL for a ws or wss URL. http, https and relative URLs are returned unchanged.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for another scheme, which no WebSocket has.
    package static func fromWebSocket(_ url: String) throws(SessionError) -> String {
        var failure = afc_failure()
        var status = afc_status.AFC_OK
        let text = url.withCoreSlice { url in
            write(url.size + 2) { out, capacity in
                var size = 0
                status = afc_url_from_websocket(out, capacity, &size, url, &failure)
                return size
            }
        }
        guard status == .AFC_OK else { throw SessionError(failure, url: url) }
        return text
    }

    /// Returns the serialized origin (RFC 6454 6.2); nil if the URL isn't valid for a request.
    static func origin(of url: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AFC_URL_ORIGIN_SIZE)) { room in
            guard let start = room.baseAddress,
                url.withCoreSlice({ afc_url_write_origin(start, $0, nil) }) == .AFC_OK
            else { return nil }
            return String(cString: start)
        }
    }

    /// Returns the URL's host as it is looked up: in lower case, an address normalised, an internationalised name as
    /// A-labels; nil if the URL isn't valid for a request.
    package static func host(of url: String) -> String? {
        origin(of: url).flatMap { URLText($0).host.map(String.init) }
    }

    /// Returns a file name from the URL's path: a single component, neither hidden nor leading to another folder.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if the URL has none.
    package static func fileName(of url: String) throws(SessionError) -> String {
        var failure = afc_failure()
        let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AFC_FILE_NAME_MAX) + 1) {
            room -> String? in
            guard let start = room.baseAddress,
                url.withCoreSlice({ afc_url_file_name(start, $0, &failure) }) == .AFC_OK
            else { return nil }
            return String(cString: start)
        }
        guard let name else { throw SessionError(failure, url: url) }
        return name
    }

    private static func write(
        _ capacity: Int, _ body: (UnsafeMutablePointer<CChar>, Int) -> Int
    ) -> String {
        String(unsafeUninitializedCapacity: capacity) { room in
            guard let start = room.baseAddress else { return 0 }
            return start.withMemoryRebound(to: CChar.self, capacity: room.count) { body($0, room.count) }
        }
    }
}

extension URLText {
    /// Splits a URL or a relative reference.
    package init(_ url: String) {
        self = url.withCoreSlice { text in
            var parts = afc_url_parts()
            afc_url_split(&parts, text)
            /// Returns the part of `url` at the same bytes as `slice`. All delimiters are ASCII, so no UTF-8 sequence
            /// is split.
            func part(_ slice: afc_slice) -> Substring? {
                guard let start = slice.bytes, let base = text.bytes, !url.isEmpty else { return nil }
                let first = url.utf8.index(url.startIndex, offsetBy: start - base)
                return url[first..<url.utf8.index(first, offsetBy: slice.size)]
            }
            let port = afc_url_port(&parts)
            return URLText(
                text: url, scheme: part(parts.scheme), userInfo: part(parts.userinfo), host: part(parts.host),
                portText: part(parts.port), port: port == 0 ? nil : Int(port), path: part(parts.path) ?? "",
                query: part(parts.query), fragment: part(parts.fragment))
        }
    }
}

extension String {
    /// Calls `body` with a view of the text, valid during the call. The text may contain NUL.
    func withCoreSlice<Result>(_ body: (afc_slice) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body(afc_slice(UnsafeRawBufferPointer($0))) }
    }
}
