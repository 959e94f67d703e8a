internal import CAFCore
import FoundationEssentials

extension CoreHTTPCache {
    /// Blocks while the disk is read.
    ///
    /// - Parameter acceptsAny: Whether to return the newest response, regardless of the fields and credentials of the
    ///   request.
    func lookUp(
        _ request: HTTPRequest, partition: String?, acceptsAny: Bool = false
    ) throws(SessionError) -> CachedResponse? {
        var found: UnsafePointer<afc_http_cache_response>?
        defer { afc_http_cache_response_free(found) }
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var core = try arena.copy(request, partition: partition)
            core.accepts_any = acceptsAny
            return afc_http_cache_lookup(&found, raw, &core, &failure)
        }
        guard let response = found?.pointee else { return nil }
        return CachedResponse(
            head: HTTPResponse(response.head, url: request.url), body: Data(response.body.buffer),
            isDecoded: response.is_decoded,
            date: Date(timeIntervalSince1970: TimeInterval(response.response_time_s)),
            age: .seconds(response.age_s), lifetime: .seconds(response.lifetime_s))
    }

    func store(_ response: CachedResponse, for request: HTTPRequest, partition: String?) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var coreRequest = try arena.copy(request, partition: partition)
            let fields = arena.copy(HTTPHeaders(response.head.headers.fields))
            var core = afc_http_cache_response()
            core.size = MemoryLayout<afc_http_cache_response>.stride
            core.head.status = Int32(clamping: response.head.status)
            core.head.version = afc_http_version(response.head.version)
            core.head.reason = arena.copy(Data(response.head.reason.utf8))
            core.head.headers = UnsafePointer(fields.baseAddress)
            core.head.header_count = fields.count
            core.is_decoded = response.isDecoded
            // For the core, 0 means now. A date before 1970 is as old as one of that year.
            core.response_time_s = max(1, Int64(unixTime: response.date))
            return response.body.withUnsafeBytes { bytes in
                core.body = afc_slice(bytes)
                return afc_http_cache_store(raw, &coreRequest, &core, &failure)
            }
        }
    }

    /// Blocks while the disk is read.
    func entries() throws(SessionError) -> [HTTPCache.Entry] {
        var list: OpaquePointer?
        defer { afc_http_cache_list_free(list) }
        try CoreArena.call { (_, failure) throws(SessionError) in
            afc_http_cache_list_begin(&list, raw, &failure)
        }
        var entries: [HTTPCache.Entry] = []
        var entry = afc_http_cache_entry()
        while let list, afc_http_cache_list_next(list, &entry) { entries.append(HTTPCache.Entry(entry)) }
        return entries
    }

    /// Blocks while the disk is read.
    func verify() throws(SessionError) -> HTTPCache.Verification {
        var core = afc_http_cache_verification()
        try CoreArena.call { (_, failure) throws(SessionError) in afc_http_cache_verify(&core, raw, &failure) }
        return HTTPCache.Verification(
            validCount: Int(clamping: core.entries), bodySize: Int(clamping: core.body_bytes),
            damagedCount: Int(clamping: core.damaged))
    }
}

extension HTTPCache.Entry {
    fileprivate init(_ core: afc_http_cache_entry) {
        let partition = core.partition.map { String(cString: $0) } ?? ""
        self.init(
            url: core.url.map { String(cString: $0) } ?? "", partition: partition.isEmpty ? nil : partition,
            status: Int(core.head.status), headers: HTTPHeaders(core.head.headers, core.head.header_count),
            bodySize: Int(clamping: core.body_bytes),
            date: Date(timeIntervalSince1970: TimeInterval(core.response_time_s)), age: .seconds(core.age_s),
            lifetime: .seconds(core.lifetime_s), isInMemory: core.is_in_memory, isOnDisk: core.is_on_disk)
    }
}

extension afc_http_version {
    fileprivate init(_ version: HTTPVersion) {
        self =
            switch version {
            case .http1_0: .AFC_HTTP_1_0
            case .http2: .AFC_HTTP_2
            case .http3: .AFC_HTTP_3
            default: .AFC_HTTP_1_1
            }
    }
}

extension CoreArena {
    fileprivate func copy(_ request: HTTPRequest, partition: String?) throws(SessionError) -> afc_http_cache_request {
        let fields = copy(request.headers)
        var core = afc_http_cache_request()
        core.size = MemoryLayout<afc_http_cache_request>.stride
        core.url = try copy(request.url, "the URL")
        core.partition = try copy(partition, "the partition")
        core.headers = UnsafePointer(fields.baseAddress)
        core.header_count = fields.count
        if let credential = request.credential { core.credentials = try copy(credential) }
        return core
    }
}

extension CoreTask {
    /// Asks the program's handler whether, and with which fields, a response is stored. Called on the loop thread.
    func decide(_ candidate: UnsafeMutablePointer<afc_http_cache_candidate>) -> Bool {
        guard let head = candidate.pointee.head, let url = candidate.pointee.url else { return false }
        let response = HTTPResponse(head.pointee, url: String(cString: url))
        switch request.handlers.caching?(response) ?? .store {
        case .store:
            return true
        case .refuse:
            return false
        case .storeWithHeaders(let headers):
            let fields = keepUntilNextDecision(HTTPHeaders(headers.fields))
            candidate.pointee.headers = fields.baseAddress
            candidate.pointee.header_count = fields.count
            return true
        }
    }
}
