import Testing

@testable import SwiftAF

@Suite struct RedactionTests {
    @Test(arguments: [
        ("Location", "http://u:s3cret@h:8/p?q=1", "http://h:8/p?q=1"),
        ("Content-Location", "//u:s3cret@h/p?token=s3cret", "//h/p?token=hidden"),
        ("Content-Location", "/p?token=s3cret#f", "/p?token=hidden#f"),
        ("Refresh", "5; url=http://u:s3cret@h/?token=s3cret&a=b", "5; url=http://h/?token=hidden&a=b"),
        ("Refresh", "0;URL='//u:s3cret@h/'", "0;URL='//h/'"),
        (
            "Link", "<http://u:s3cret@h/a>; rel=\"next\", <//u:s3cret@g?key=s3cret>;title=\"a b\"",
            "<http://h/a>; rel=\"next\", <//g?key=hidden>;title=\"a b\""
        ),
        ("X-Next", "http://u:p@s3cret@h/?to=http://v:s3cret@g/", "http://h/?to=http://g/"),
        ("X-Next", "http:///u:s3cret@h", "http:///h"),
        ("X-Next", "\thttp://u:s3cret@\u{301}h  ", "\thttp://\u{301}h  "),
    ])
    func hidesCredentialsOfURLsInFields(name: String, value: String, shown: String) {
        #expect(Redaction.standard.value(of: HTTPHeaders.Field(name: name, value: value)) == shown)
        #expect(Redaction.none.value(of: HTTPHeaders.Field(name: name, value: value)) == value)
    }

    @Test(arguments: [
        ("user:s3cret@host/p?q=1", "user:<hidden>?q=1"), ("mailto:me@host", "mailto:<hidden>"), ("p/q?a=b", "p/q?a=b"),
        ("http://h/p@q", "http://h/p@q"),
    ])
    func hidesPasswordsOfURLsWithoutScheme(url: String, shown: String) {
        #expect(Redaction.standard.url(url) == shown)
        #expect(Redaction.none.url(url) == url)
    }

    @Test(arguments: [
        ("access%5Ftoken=s3cret", "access%5Ftoken=hidden"), ("%70assword=s3cret&a=b", "%70assword=hidden&a=b"),
        ("user%5Bpassword%5D=s3cret", "user%5Bpassword%5D=hidden"), ("token[]=s3cret", "token[]=hidden"),
        ("token%5b%5d=s3cret", "token%5b%5d=hidden"), ("a%5Bb%5D=c", "a%5Bb%5D=c"), ("%ff%=a", "%ff%=a"),
        ("user[passwords]=a", "user[passwords]=a"), ("a=\u{600}&token=s3cret", "a=\u{600}&token=hidden"),
        ("\u{600}[token]=s3cret", "\u{600}[token]=hidden"),
    ])
    func hidesEncodedAndNestedQueryItems(query: String, shown: String) {
        #expect(Redaction.standard.url("http://h/?" + query) == "http://h/?" + shown)
        #expect(Redaction.none.url("http://h/?" + query) == "http://h/?" + query)
    }

    @Test(arguments: [
        ("Authorization", true), ("proxy-authorization", true), ("COOKIE", true), ("Set-Cookie", true),
        ("Cookie2", true), ("set-cookie2", true), ("Cookie3", false), ("X-Name", false), ("", false),
        ("x-api-key", true), ("Api-Key", true), ("X-Auth-Token", true), ("X-CSRF-Token", true),
    ])
    func hidesFieldsOfCredentials(name: String, isHidden: Bool) {
        let field = HTTPHeaders.Field(name: name, value: "s3cret")
        #expect(field.isSecret == isHidden)
        #expect(Redaction.standard.value(of: field) == (isHidden ? Redaction.placeholder : "s3cret"))
    }

    @Test(arguments: [
        "", "text/html; q=0.5, */*", "W/\"a@b//c\"", "me@host", "ab//cd+e=", "//", "?", "a?b#c", "?0",
        "http://h/@a?b@c",
        "max-age=1, a=\"b  c\"", "grün // @",
    ])
    func keepsOtherValues(value: String) {
        #expect(Redaction.standard.value(of: HTTPHeaders.Field(name: "X", value: value)) == value)
    }
}
