import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// A case of path validation as the test vectors of x509-limbo have it: which roots, which chain, at which time, for
/// which name, and whether it is to be accepted.
private struct PathCase {
    enum Verdict: Equatable {
        case agrees
        /// With what was found instead.
        case differs(String)
        /// With what the policy has no word for.
        case skipped(String)
    }

    struct Malformed: Error {
        let place: String
    }

    let id: String
    private let roots: [String]
    private let chain: [String]
    private let time: Date?
    private let name: String?
    private let lists: [String]
    private let isAccepted: Bool
    /// Why the case can't be judged, if it can't.
    private let obstacle: String?

    init(_ json: JSONValue) throws {
        guard let id = json["id"]?.string else { throw Malformed(place: "id") }
        func texts(_ member: String) throws -> [String] {
            guard let value = json[member], !value.isNull else { return [] }
            let texts = value.array?.compactMap(\.string)
            guard let texts, texts.count == value.array?.count else { throw Malformed(place: "\(id): \(member)") }
            return texts
        }
        self.id = id
        roots = try texts("trusted_certs")
        guard let peer = json["peer_certificate"]?.string else { throw Malformed(place: "\(id): peer_certificate") }
        chain = try [peer] + texts("untrusted_intermediates")
        lists = try texts("crls")
        time = try json["validation_time"]?.string.map { text in
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw Malformed(place: "\(id): validation_time")
            }
            return date
        }
        switch json["expected_result"]?.string {
        case "SUCCESS"?: isAccepted = true
        case "FAILURE"?: isAccepted = false
        default: throw Malformed(place: "\(id): expected_result")
        }
        name = json["expected_peer_name"]?["value"]?.string
        obstacle = try Self.obstacle(json, texts)
    }

    private static func obstacle(_ json: JSONValue, _ texts: (String) throws -> [String]) rethrows -> String? {
        if json["validation_kind"]?.string != "SERVER" { return "the peer is a client" }
        if let kind = json["expected_peer_name"]?["kind"]?.string, !["DNS", "IP"].contains(kind) {
            return "the name is of kind \(kind)"
        }
        if json["max_chain_depth"]?.integer != nil { return "a limit of depth" }
        if try !texts("signature_algorithms").isEmpty { return "a choice of signature algorithms" }
        if try !texts("key_usage").isEmpty { return "a choice of key usages" }
        let purposes = try texts("extended_key_usage")
        return purposes.isEmpty || purposes.contains("serverAuth") ? nil : "the purpose is \(purposes)"
    }

    static func all(in file: Data) throws -> [PathCase] {
        guard let cases = try JSONValue(parsing: file)["testcases"]?.array else { throw Malformed(place: "testcases") }
        return try cases.map(PathCase.init)
    }

    func verdict() -> Verdict {
        if let obstacle { return .skipped(obstacle) }
        var policy = SecurityPolicy(anchors: .pem(Data(roots.joined(separator: "\n").utf8)))
        policy.verificationDate = time
        policy.validatesDomainName = name != nil
        if !lists.isEmpty { policy.revocationLists = lists.map { Data($0.utf8) } }
        let found: String?
        do throws(SessionError) {
            try policy.evaluate(chain.compactMap(Self.der), host: name)
            found = nil
        } catch {
            found = "\(error.code)\(error.reason.map { " (\($0))" } ?? "")"
        }
        return (found == nil) == isAccepted ? .agrees : .differs(found ?? "accepted")
    }

    private static func der(_ pem: String) -> Data? {
        let lines = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }
        return Data(base64Encoded: lines.joined())
    }
}

@Suite struct PathValidationTests {
    /// Names a file of cases, such as limbo.json.
    private static let path = ProcessInfo.processInfo.environment["AF_PATH_CASES"]

    @Test(.enabled(if: path != nil, "AF_PATH_CASES names no file of cases"))
    func agreesWithMostCasesOfFile() throws {
        let cases = try PathCase.all(in: Data(contentsOf: URL(filePath: try #require(Self.path))))
        var (agreeing, skipped) = (0, [String: Int]())
        var differing: [String] = []
        for one in cases {
            switch one.verdict() {
            case .agrees: agreeing += 1
            case .skipped(let why): skipped[why, default: 0] += 1
            case .differs(let found): differing.append("\(one.id): \(found)")
            }
        }
        print("\(cases.count) cases: \(agreeing) agree, \(differing.count) differ, \(skipped) skipped")
        for line in differing { print("  differs: \(line)") }
        #expect(!cases.isEmpty)
        // Such collections hold cases on which implementations differ by intent; the list above is to be read.
        #expect(agreeing > differing.count)
    }

    // MARK: The reader itself

    private struct Chain {
        let root, intermediate, leaf: TestCertificate

        init(_ validity: TestCertificate.Validity = .current) throws {
            root = try .makeAuthority()
            intermediate = try root.issueAuthority()
            leaf = try intermediate.issue(hosts: ["host.test", "127.0.0.1"], validity: validity)
        }

        func json(
            _ id: String, _ expected: String, _ members: KeyValuePairs<String, JSONValue> = [:]
        ) -> JSONValue {
            var json: JSONObject = [
                "id": .string(id), "features": nil, "description": "", "validation_kind": "SERVER",
                "trusted_certs": [.string(root.pem)], "untrusted_intermediates": [.string(intermediate.pem)],
                "peer_certificate": .string(leaf.pem), "validation_time": nil, "signature_algorithms": [],
                "key_usage": [], "extended_key_usage": ["serverAuth"], "expected_result": .string(expected),
                "expected_peer_name": ["kind": "DNS", "value": "host.test"], "expected_peer_names": [],
                "max_chain_depth": nil,
            ]
            for (name, value) in members { json[name] = value }
            return .object(json)
        }
    }

    private static func verdicts(_ cases: JSONValue...) throws -> [PathCase.Verdict] {
        let file: JSONValue = ["version": 1, "testcases": .array(cases)]
        return try PathCase.all(in: file.data()).map { $0.verdict() }
    }

    @Test func verdictsAgreeForCasesOfEveryKind() throws {
        let (good, expired, other) = (try Chain(), try Chain(.expired), try Chain())
        let later = Date(timeIntervalSinceNow: 4000 * 86_400).formatted(.iso8601)
        let yesterday = Date(timeIntervalSinceNow: -7200).formatted(.iso8601)
        let impostor = try good.leaf.issue(hosts: ["host.test"])
        let verdicts = try Self.verdicts(
            good.json("good", "SUCCESS"),
            good.json("no-name", "SUCCESS", ["expected_peer_name": nil]),
            good.json("address", "SUCCESS", ["expected_peer_name": ["kind": "IP", "value": "127.0.0.1"]]),
            good.json("other-host", "FAILURE", ["expected_peer_name": ["kind": "DNS", "value": "other.test"]]),
            good.json("other-root", "FAILURE", ["trusted_certs": [.string(other.root.pem)]]),
            good.json("two-roots", "SUCCESS", ["trusted_certs": [.string(other.root.pem), .string(good.root.pem)]]),
            good.json("no-intermediate", "FAILURE", ["untrusted_intermediates": []]),
            good.json("too-late", "FAILURE", ["validation_time": .string(later)]),
            expired.json("expired", "FAILURE"),
            expired.json("in-time", "SUCCESS", ["validation_time": .string(yesterday)]),
            good.json(
                "no-authority", "FAILURE",
                [
                    "peer_certificate": .string(impostor.pem),
                    "untrusted_intermediates": [.string(good.leaf.pem), .string(good.intermediate.pem)],
                ]))
        #expect(verdicts == Array(repeating: .agrees, count: 11))
    }

    @Test func differingAndSkippedCasesNameTheirReason() throws {
        let chain = try Chain()
        let verdicts = try Self.verdicts(
            chain.json("good", "FAILURE"),
            chain.json("other-root", "SUCCESS", ["trusted_certs": [.string(try Chain().root.pem)]]),
            chain.json("client", "SUCCESS", ["validation_kind": "CLIENT"]),
            chain.json("mail", "SUCCESS", ["expected_peer_name": ["kind": "RFC822", "value": "a@b"]]),
            chain.json("depth", "SUCCESS", ["max_chain_depth": 1]),
            chain.json("purpose", "SUCCESS", ["extended_key_usage": ["codeSigning"]]))
        #expect(verdicts[0] == .differs("accepted"))
        guard case .differs(let found) = verdicts[1] else {
            Issue.record("a strange root was accepted")
            return
        }
        #expect(found.hasPrefix("untrusted ("))
        for verdict in verdicts[2...] {
            if case .skipped = verdict { continue }
            Issue.record("\(verdict) of what the policy has no word for")
        }
    }

    @Test(arguments: ["{", "[]", #"{"testcases": [{}]}"#, #"{"testcases": [{"id": "a"}]}"#])
    func refusesMalformedCases(text: String) {
        #expect(throws: (any Error).self) { try PathCase.all(in: Data(text.utf8)) }
    }
}
