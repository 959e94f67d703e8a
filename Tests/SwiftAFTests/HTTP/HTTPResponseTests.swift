import FoundationEssentials
import SwiftAF
import Testing

@Suite struct HTTPResponseTests {
    @Test func responseSummarizesHeadersAndMetrics() {
        let hop = HopMetrics(url: "http://h/", total: .milliseconds(2), bytesSent: 10, bytesReceived: 20)
        let response = HTTPResponse(
            status: 200, reason: "OK", headers: ["content-type": "text/html; charset=UTF-8", "Content-Length": "12"],
            url: "http://h/?q", metrics: ResponseMetrics(hops: [hop, hop]))
        #expect(response.isSuccessful)
        #expect(response.mediaType?.essence == "text/html")
        #expect(response.contentLength == 12)
        #expect(response.bytesSent == 20 && response.bytesReceived == 40)
        #expect(response.metrics.total == .milliseconds(4))
        #expect(response.metrics.redirects.count == 1)
        #expect(response.description == "HTTP/1.1 200 OK (http://h/?…)")
    }

    @Test func responsesWithDifferentMetricsAreEqual() {
        let response = HTTPResponse(status: 200, headers: ["A": "1"], url: "http://h/")
        var other = response
        other.metrics = ResponseMetrics(hops: [HopMetrics(url: "http://h/", total: .milliseconds(2))])
        #expect(response == other && Set([response, other]).count == 1)
        let changes: [(inout HTTPResponse) -> Void] = [
            { $0.status = 201 }, { $0.version = .http2 }, { $0.reason = "OK" }, { $0.headers["A"] = "2" },
            { $0.trailers["A"] = "1" }, { $0.url = "http://h/a" },
        ]
        for change in changes {
            var changed = response
            change(&changed)
            #expect(changed != response)
        }
    }

    /// The examples of RFC 3986, section 5.4, and references as servers send them in `Link` fields.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
        ("?page=2", "http://a/b/c/d;p?page=2"), ("2?x=1", "http://a/b/c/2?x=1"), ("https://h/2", "https://h/2"),
    ])
    func referencesAreResolvedAgainstTheURLOfTheResponse(reference: String, expected: String) throws {
        let head = HTTPResponse(status: 200, url: "http://a/b/c/d;p?q")
        #expect(head.url(resolving: reference) == expected)
        #expect(head.url(resolving: reference[...]) == expected)
        #expect(Response(head: head).url(resolving: reference) == expected)
        #expect(DownloadResponse(head: head, filePath: "/f", fileSize: 0).url(resolving: reference) == expected)
    }

    @Test(
        arguments: [
            (["</users?page=2>; rel=\"next\""], "https://h/users?page=2"),
            (["<?page=1>; rel=prev, <?page=3>; rel=next"], "https://h/a/b?page=3"),
            (["<c>;title=\"a, <b>; \\\"x\\\"\" ; REL = \"prev  NEXT\" "], "https://h/a/c"),
            (["<?page=1>; rel=\"first\"", "<https://g/2>; rel=\"next\""], "https://g/2"),
            ([", , <1>;rel=next;;,<2>;rel=next"], "https://h/a/1"),
            (["<>; rel=next"], "https://h/a/b?q"),
            (["<a,b;c>; rel=next; rel=\"last\""], "https://h/a/a,b;c"),
            (["<1>; rel=last; rel=next"], nil),
            (["<1>; rel=next; anchor=\"/x\""], nil),
            (["<1>; rel=\"nextpage\"", "<2>"], nil),
            (["1; rel=next, <2>; rel=next"], nil),
            (["<1; rel=next"], nil),
            (["<1>; rel=\"next"], nil),
            (["<1>; rel=prev garbage <2>; rel=next"], nil),
            (["<1> <2>; rel=next"], nil),
            ([""], nil),
            ([], nil),
        ] as [([String], String?)])
    func linkOfRelationIsFound(fields: [String], expected: String?) {
        let head = HTTPResponse(status: 200, headers: HTTPHeaders(fields.map { ("Link", $0) }), url: "https://h/a/b?q")
        #expect(head.url(linkedAs: "next") == expected)
        #expect(Response(head: head).url(linkedAs: "Next") == expected)
    }

    @Test(arguments: ["", "-1", "+1", "1a", "99999999999999999999", "1, 1"])
    func badContentLength(text: String) {
        #expect(HTTPResponse(status: 200, headers: ["Content-Length": text], url: "").contentLength == nil)
    }

    @Test(
        arguments: [
            (["Content-Disposition": "attachment; filename*=UTF-8''na%C3%AFve.txt"], "http://h/a", "naïve.txt"),
            (["content-disposition": "attachment; filename=\"../../.x\""], "http://h/a", "x"),
            (["Content-Type": "image/png"], "http://h/a%20b?c/d", "a b"),
            (["Content-Type": "image/png"], "http://h/", "download.png"),
            ([:], "", "download"),
        ] as [(HTTPHeaders, String, String)])
    func suggestedFileNames(headers: HTTPHeaders, url: String, name: String) {
        #expect(HTTPResponse(status: 200, headers: headers, url: url).suggestedFileName == name)
    }

    @Test func suggestedFileNameInLatin1() {
        let field = HTTPHeaders.Field(
            name: "Content-Disposition", value: "attachment; filename=\"\u{E9}.txt\"")
        #expect(HTTPResponse(status: 200, headers: HTTPHeaders([field]), url: "").suggestedFileName == "é.txt")
    }

    @Test func emptyMetricsHaveNoTotals() {
        let metrics = ResponseMetrics()
        #expect(metrics.total == nil && metrics.bytesSent == 0 && metrics.redirects.isEmpty)
    }

    @Test func sumsOfMetricsAreLimited() {
        let longest = Duration.seconds(Int64.max) * 18
        let most = HopMetrics(url: "", total: longest, bytesSent: .max, bytesReceived: .max)
        let metrics = ResponseMetrics(hops: [most, most])
        #expect(metrics.bytesSent == .max && metrics.bytesReceived == .max)
        #expect(metrics.total == Duration(attoseconds: .max) && !metrics.description.isEmpty)
        let least = HopMetrics(url: "", total: .zero - longest, bytesSent: .min)
        #expect(ResponseMetrics(hops: [least, least]).bytesSent == .min)
        #expect(ResponseMetrics(hops: [least, least]).total == Duration(attoseconds: .min))
    }

    @Test func knowsPhrasesOfRegisteredStatuses() {
        #expect(HTTPStatus.phrase(for: 404) == "Not Found")
        #expect(HTTPStatus.phrase(for: 299) == nil)
    }

    @Test func describesIPv6AddressInBrackets() {
        #expect(SocketAddress(ip: "127.0.0.1", port: 80).description == "127.0.0.1:80")
        #expect(SocketAddress(ip: "::1", port: 80).description == "[::1]:80")
    }
}
