import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct BearerStateTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)
    private static let start = ContinuousClock.now
    private static let error = SessionError(.authentication)

    private static func name(_ step: BearerState.Step) -> String {
        switch step {
        case .use(let token): "use \(token.value)"
        case .useAndRefresh(let token): "use \(token.value), refresh"
        case .refresh: "refresh"
        case .fail: "fail"
        case .ignore: "ignore"
        }
    }

    @Test func tokensExpireAfterADuration() throws {
        let expires = try #require(BearerToken("a", expiresIn: .seconds(3600)).expires)
        #expect(abs(expires.timeIntervalSinceNow - 3600) < 60)
        #expect(BearerToken("a").expires == nil)
    }

    @Test(
        arguments: [
            (nil, nil, "use a"), (nil, 60, "use a"), (61, 60, "use a"), (60, 60, "use a, refresh"),
            (1, 60, "use a, refresh"), (1, nil, "use a"), (1, 0, "use a"), (0, nil, "refresh"), (0, 60, "refresh"),
            (-1, nil, "refresh"), (1e25, 60, "use a"), (-1e25, 60, "refresh"),
        ] as [(Double?, Double?, String)])
    func expiryDecidesWhetherTokenIsUsedOrRefreshed(rest: Double?, leeway: Double?, expected: String) {
        let state = BearerState(token: BearerToken("a", expires: rest.map { Self.now + $0 }))
        let step = state.prepare(start: Self.start, now: Self.now, leeway: leeway.map { .seconds($0) })
        #expect(Self.name(step) == expected)
    }

    @Test func missingTokenIsRequested() {
        let state = BearerState(token: nil)
        #expect(Self.name(state.prepare(start: Self.start, now: Self.now, leeway: nil)) == "refresh")
        #expect(Self.name(state.decide(refused: "a", start: Self.start)) == "ignore")
    }

    @Test func comparesRefusedTokenWithCurrentOne() {
        var state = BearerState(token: BearerToken("a"))
        #expect(Self.name(state.decide(refused: "a", start: Self.start)) == "refresh")
        #expect(Self.name(state.decide(refused: "x", start: Self.start)) == "ignore")
        state.finish(.success(BearerToken("b")), from: state.generation, at: Self.start)
        #expect(Self.name(state.decide(refused: "a", start: Self.start)) == "use b")
        #expect(Self.name(state.decide(refused: "b", start: Self.start)) == "refresh")
        state.set(nil)
        #expect(Self.name(state.decide(refused: "a", start: Self.start)) == "refresh")
        #expect(Self.name(state.decide(refused: "x", start: Self.start)) == "ignore")
    }

    @Test func failedRefreshFailsOnlyEarlierRequests() {
        var state = BearerState(token: BearerToken("a"))
        state.finish(.failure(Self.error), from: state.generation, at: Self.start + .seconds(5))
        #expect(Self.name(state.decide(refused: "a", start: Self.start + .seconds(5))) == "fail")
        #expect(Self.name(state.decide(refused: "a", start: Self.start + .seconds(6))) == "refresh")
        state.set(BearerToken("b"))
        #expect(Self.name(state.decide(refused: "b", start: Self.start)) == "refresh")
        #expect(Self.name(state.decide(refused: "a", start: Self.start)) == "use b")
    }

    @Test func tokenSetDuringRefreshIsKept() {
        var state = BearerState(token: BearerToken("a"))
        let generation = state.generation
        state.set(BearerToken("mine"))
        state.finish(.success(BearerToken("b")), from: generation, at: Self.start)
        #expect(state.token?.value == "mine")
        state.finish(.failure(Self.error), from: generation, at: Self.start + .seconds(9))
        #expect(Self.name(state.decide(refused: "mine", start: Self.start)) == "refresh")
    }

    @Test func signingOutDuringRefreshIsKept() {
        var state = BearerState(token: nil)
        let generation = state.generation
        state.set(nil)
        state.finish(.success(BearerToken("b")), from: generation, at: Self.start)
        #expect(state.token == nil)
    }

    @Test func refreshingAheadPausesAfterFailure() {
        var state = BearerState(token: BearerToken("a", expires: Self.now + 30))
        let step = { (state: BearerState, time: Double) in
            Self.name(state.prepare(start: Self.start + .seconds(time), now: Self.now, leeway: .seconds(60)))
        }
        #expect(step(state, 0) == "use a, refresh")
        state.finish(.failure(Self.error), from: state.generation, at: Self.start + .seconds(5))
        #expect(step(state, 6) == "use a")
        #expect(step(state, 14.9) == "use a")
        #expect(step(state, 15) == "use a, refresh")
    }

    @Test func forgetsOldestFormerTokens() {
        var state = BearerState(token: BearerToken("0"))
        for number in 1...16 { state.set(BearerToken("\(number)")) }
        #expect(Self.name(state.decide(refused: "0", start: Self.start)) == "use 16")
        state.set(BearerToken("17"))
        #expect(Self.name(state.decide(refused: "0", start: Self.start)) == "ignore")
    }

    @Test func descriptionsHideTokenValue() {
        let token = BearerToken("secret-token")
        var text = ""
        dump(token, to: &text)
        for shown in ["\(token)", String(reflecting: token), text, "\(Optional(token) as Any)"] {
            #expect(!shown.contains("secret-token"))
        }
    }

    @Test(
        arguments: [
            ("https://a.org", "https://a.org:443/x?y", true), ("http://a.org:80", "HTTP://A.ORG", true),
            ("https://a.org", "http://a.org", false), ("https://a.org", "https://a.org:444", false),
            ("https://a.org", "https://b.org", false), ("https://[::1]:8", "https://[::1]:8/", true),
            ("https://a.org", "https://a.org@b.org/", false), ("https://a.org", "https://x:y@a.org/", true),
            ("https://a.org", "https://a.org:", true), ("https://a.org", "https://a.org:x", false),
        ])
    func comparesNormalisedOrigins(left: String, right: String, isSame: Bool) throws {
        let origin = try #require(Origin(left))
        #expect((Origin(right) == origin) == isSame)
    }

    @Test(arguments: ["", "a.org", "//a.org", "ftp://a.org", "https://", "https://a.org:99999"])
    func refusesInvalidOriginText(text: String) {
        #expect(Origin(text) == nil)
    }
}
