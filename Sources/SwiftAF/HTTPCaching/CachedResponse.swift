import Dispatch
public import FoundationEssentials

/// A response of an ``HTTPCache``, with its body.
public struct CachedResponse: Hashable, Sendable {
    /// Status and header fields, without those of the connection.
    public var head: HTTPResponse
    /// The whole body.
    public var body: Data
    /// Whether ``body`` is without its Content-Encoding, as tasks deliver it by default.
    public var isDecoded: Bool
    /// The time when the response was received, or last validated by the server, to the second.
    public var date: Date
    /// The age when the response was looked up (RFC 9111 4.2.3), in whole seconds. Ignored by
    /// ``HTTPCache/store(_:for:partition:)``.
    public var age: Duration
    /// The freshness lifetime: the response is fresh while its age is less. Ignored by
    /// ``HTTPCache/store(_:for:partition:)``.
    public var lifetime: Duration

    /// Creates a response to store. Age and lifetime are for tests.
    public init(
        head: HTTPResponse, body: Data, isDecoded: Bool = true, date: Date = Date(), age: Duration = .zero,
        lifetime: Duration = .zero
    ) {
        self.head = head
        self.body = body
        self.isDecoded = isDecoded
        self.date = date
        self.age = age
        self.lifetime = lifetime
    }

    /// Whether the response was fresh when it was looked up.
    public var isFresh: Bool { age < lifetime }
}

extension HTTPCache {
    /// Returns the newest stored response to a GET request, fresh or stale; nil without one.
    ///
    /// The credential of the request, its Authorization, and its fields that Vary names select a response. If the
    /// session has a default credential, set it for the request. User-Agent and Accept-Encoding, which sessions add,
    /// select only if the request has them. Security policies don't select. This lookup counts neither in
    /// ``statistics`` nor as a use for evictions.
    ///
    /// - Parameters:
    ///   - request: The request, with an absolute URL. An internationalised host must be given as A-labels (`xn--…`).
    ///   - partition: The ``SessionConfiguration/cachePartition`` of the session.
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid URL, or a partition with a line feed.
    public func cachedResponse(
        for request: HTTPRequest, partition: String? = nil
    ) async throws(SessionError) -> CachedResponse? {
        try await blocking { core throws(SessionError) in try core.lookUp(request, partition: partition) }
    }

    /// Returns the newest stored response to GET requests for a URL, whichever fields and credentials they had; nil
    /// without one.
    ///
    /// - Throws: As ``cachedResponse(for:partition:)``.
    package func newestResponse(
        toURL url: String, partition: String? = nil
    ) async throws(SessionError) -> CachedResponse? {
        try await blocking { core throws(SessionError) in
            try core.lookUp(HTTPRequest(url), partition: partition, acceptsAny: true)
        }
    }

    /// Stores a response to a GET request, instead of the one that the same request would select. Sessions with any
    /// ``SecurityPolicy`` use it.
    ///
    /// The rules of HTTP apply: they decide whether the response may be stored, and its fields decide how long it is
    /// fresh. Waits while more than 8 MiB wait to be written.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request, as for ``cachedResponse(for:partition:)``.
    ///   - partition: The ``SessionConfiguration/cachePartition`` of the session.
    /// - Throws: ``SessionError/Code/invalidInput`` for a response that must not be stored, an invalid field, a
    ///   Content-Length that isn't the body's, an invalid URL, or a partition with a line feed;
    ///   ``SessionError/Code/tooLarge`` for a larger response than the cache stores.
    public func store(
        _ response: CachedResponse, for request: HTTPRequest, partition: String? = nil
    ) async throws(SessionError) {
        try await blocking { core throws(SessionError) in
            try core.store(response, for: request, partition: partition)
        }
    }

    /// Lists the stored responses, those of other processes included, in no particular order. Waits for the disk.
    public func entries() async throws(SessionError) -> [Entry] {
        try await blocking { core throws(SessionError) in try core.entries() }
    }

    /// Reads every file, compares all checksums, and removes damaged files. Not needed for correct responses, because
    /// every byte is checked when it is used.
    public func verify() async throws(SessionError) -> Verification {
        try await blocking { core throws(SessionError) in try core.verify() }
    }

    /// Waits until all responses stored so far are on disk. Only needed before the process exits.
    public func flush() async {
        await blocking { core throws(Never) in core.flush() }
    }

    /// Calls the core on a thread that may block for the disk.
    private func blocking<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (CoreHTTPCache) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let core = core
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(returning: Result { () throws(Failure) in try work(core) })
            }
        }
        return try result.get()
    }

    /// A stored response, without its body.
    public struct Entry: Hashable, Sendable {
        /// The URL of the request.
        public var url: String
        /// The ``SessionConfiguration/cachePartition`` of its session; nil without one.
        public var partition: String?
        /// The status code.
        public var status: Int
        /// The stored header fields.
        public var headers: HTTPHeaders
        /// The number of bytes of the body, as stored.
        public var bodySize: Int
        /// The time when the response was received, or last validated by the server, to the second.
        public var date: Date
        /// The age (RFC 9111 4.2.3), in whole seconds.
        public var age: Duration
        /// The freshness lifetime: the response is fresh while its age is less.
        public var lifetime: Duration
        /// Whether the response is in memory.
        public var isInMemory: Bool
        /// Whether the response has a file on disk.
        public var isOnDisk: Bool

        /// Creates an entry, for tests of code that lists them.
        public init(
            url: String, partition: String? = nil, status: Int = 200, headers: HTTPHeaders = [:], bodySize: Int = 0,
            date: Date = Date(), age: Duration = .zero, lifetime: Duration = .zero, isInMemory: Bool = true,
            isOnDisk: Bool = false
        ) {
            self.url = url
            self.partition = partition
            self.status = status
            self.headers = headers
            self.bodySize = bodySize
            self.date = date
            self.age = age
            self.lifetime = lifetime
            self.isInMemory = isInMemory
            self.isOnDisk = isOnDisk
        }

        /// Whether the response is fresh.
        public var isFresh: Bool { age < lifetime }
    }

    /// The outcome of ``HTTPCache/verify()``.
    public struct Verification: Hashable, Sendable {
        /// The number of responses whose every byte is valid.
        public var validCount: Int
        /// The number of bytes of their bodies.
        public var bodySize: Int
        /// The number of damaged responses, which were removed.
        public var damagedCount: Int

        /// Creates a result, for tests.
        public init(validCount: Int = 0, bodySize: Int = 0, damagedCount: Int = 0) {
            self.validCount = validCount
            self.bodySize = bodySize
            self.damagedCount = damagedCount
        }
    }
}
