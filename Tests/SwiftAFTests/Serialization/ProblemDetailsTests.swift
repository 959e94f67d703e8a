import FoundationEssentials
import SwiftAF
import Testing

@Suite struct ProblemDetailsTests {
    private static let document: JSONValue = [
        "type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.", "status": 403,
        "detail": "Your current balance is 30, but that costs 50.", "instance": "/account/12345/msgs/abc",
        "balance": 30,
    ]

    private func failure(_ body: Data, type: String = "application/problem+json") -> SessionError? {
        let response = HTTPResponse(status: 403, headers: ["Content-Type": type], url: "https://h/")
        return #expect(throws: SessionError.self) { try JSONResponseSerializer().serialize(response, body: body) }
    }

    @Test func anErrorKnowsItsProblem() throws {
        let problem = try #require(failure(Self.document.data())?.problem)
        #expect(problem.type == "https://example.com/probs/out-of-credit" && problem.status == 403)
        #expect(problem.title == "You do not have enough credit." && problem.instance == "/account/12345/msgs/abc")
        #expect(problem.detail == "Your current balance is 30, but that costs 50.")
        #expect(problem.extensions == ["balance": 30])
        #expect(problem.jsonValue == Self.document)
    }

    @Test(
        arguments: [
            ("{", "application/problem+json"), ("[]", "application/problem+json"), ("", "application/problem+json"),
            ("{}", "application/json"), ("{}", "nonsense"),
        ])
    func otherwiseThereIsNone(body: String, type: String) {
        #expect(failure(Data(body.utf8), type: type)?.problem == nil)
    }

    @Test func parametersOfTheTypeDoNotMatter() {
        let problem = failure(Data("{}".utf8), type: "Application/Problem+JSON; charset=utf-8")?.problem
        #expect(problem == ProblemDetails() && problem?.type == "about:blank")
    }

    @Test func membersOfAWrongTypeCountAsMissing() {
        let problem = ProblemDetails(["type": 7, "title": nil, "status": "403", "detail": [], "instance": false])
        #expect(problem == ProblemDetails())
    }

    @Test func roundTripsProblemThroughCoding() throws {
        let problem = try #require(ProblemDetails(Self.document))
        #expect(try recoded(problem) == problem)
        #expect(try failure(Self.document.data())?.decodeBody(as: ProblemDetails.self) == problem)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProblemDetails.self, from: Data("[]".utf8)) }
    }
}
