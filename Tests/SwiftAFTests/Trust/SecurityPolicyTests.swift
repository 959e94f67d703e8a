import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Chains like those of AFNetworking's tests, made anew so that nothing expires.
private struct Chains: Sendable {
    let root, intermediate, leaf, selfSigned, noNames: TestCertificate
    let otherRoot, otherLeaf, unrelated: TestCertificate

    init() throws {
        root = try .makeAuthority(commonName: "Root")
        intermediate = try root.issueAuthority()
        leaf = try intermediate.issue(hosts: ["httpbin.test", "*.httpbin.test"])
        otherRoot = try .makeAuthority(commonName: "Other root")
        otherLeaf = try otherRoot.issue(hosts: ["adn.test"])
        unrelated = try .makeSelfSigned(hosts: ["foobar.test"])
        selfSigned = try .makeSelfSigned(hosts: ["foobar.test"])
        noNames = try .makeSelfSigned(hosts: [])
    }

    /// A chain that is good once both roots are trusted, as the tests' policies do.
    var httpbin: [Data] { [leaf.der, intermediate.der, root.der] }
    var adn: [Data] { [otherLeaf.der, otherRoot.der] }
    var pem: Data { Data((root.pem + otherRoot.pem).utf8) }
}

/// The counterparts of AFSecurityPolicyTests, each row with the name of its original. Where the verdict differs,
/// docs/trust.md says why.
@Suite struct SecurityPolicyTests {
    private let chains: Chains

    init() throws {
        chains = try Chains()
    }

    private func policy(
        _ mode: PinningMode = .none, _ pins: [TestCertificate] = [],
        _ change: (inout SecurityPolicy) -> Void = { _ in }
    ) -> SecurityPolicy {
        var policy = SecurityPolicy(pinningMode: mode, pinnedCertificates: Set(pins.map(\.der)))
        policy.anchors = .pem(chains.pem)
        change(&policy)
        return policy
    }

    /// Nil if the policy accepts the chain.
    private func reason(_ policy: SecurityPolicy, _ chain: [Data], _ host: String? = nil) -> SessionError.Reason? {
        do throws(SessionError) {
            let report = try policy.evaluate(chain, host: host)
            #expect(report.isAccepted)
            return nil
        } catch {
            #expect(error.code == .untrusted)
            #expect(error.trust?.isAccepted == false)
            #expect(error.trust?.reason == error.reason)
            return error.reason
        }
    }

    @Test func defaultPolicyVerifiesWithoutPins() {
        for policy in [SecurityPolicy.default, SecurityPolicy(), SecurityPolicy(pinningMode: .none)] {
            #expect(policy.pinningMode == .none)
            #expect(!policy.allowsInvalidCertificates)
            #expect(policy.validatesDomainName)
            #expect(policy.pinnedCertificates.isEmpty)
            #expect(policy.anchors == .system)
        }
    }

    @Test func defaultPolicyRefusesUntrustedChains() {
        #expect(reason(policy(), chains.httpbin) == nil)
        #expect(reason(policy(), chains.httpbin, "httpbin.test") == nil)
        #expect(reason(policy(), [chains.noNames.der]) == .selfSigned)
        #expect(reason(policy(), chains.httpbin, "apple.test") == .wrongHost)
        #expect(reason(.default, chains.httpbin) == .untrustedRoot)
        #expect(reason(.default, Array(chains.httpbin.prefix(2))) == .unknownIssuer)
    }

    @Test func clientCertificateTakesFileURLs() throws {
        let (file, web) = (URL(filePath: "/c"), try #require(URL(string: "https://host/c")))
        #expect(
            try ClientCertificate(path: file, keyPath: URL(filePath: "/k"), host: "h")
                == ClientCertificate(path: "/c", keyPath: "/k", host: "h"))
        let error = #expect(throws: SessionError.self) { try ClientCertificate(path: file, keyPath: web) }
        #expect(error?.code == .invalidInput && error?.message.contains("key") == true)
    }

    @Test(arguments: [PinningMode.publicKey, .certificate])
    func readsCertificatesOfFolder(mode: PinningMode) throws {
        let folder = try TestFolder()
        try chains.leaf.der.write(to: URL(filePath: folder.file("leaf.cer")))
        try Data(chains.root.pem.utf8).write(to: URL(filePath: folder.file("root.cer")))
        try Data("no certificate".utf8).write(to: URL(filePath: folder.file("notes.txt")))
        let found = try SecurityPolicy.certificates(inFolder: folder.path)
        #expect(found == [Data(chains.leaf.pem.utf8), Data(chains.root.pem.utf8)])
        #expect(try SecurityPolicy.certificates(inFolder: URL(filePath: folder.path)) == found)
        var policy = SecurityPolicy(pinningMode: mode, pinnedCertificates: found)
        policy.anchors = .pem(chains.pem)
        #expect(policy.pinnedCertificates.count == 2)
        #expect(reason(policy, chains.httpbin, "httpbin.test") == nil)
        #expect(throws: SessionError.self) { try SecurityPolicy.certificates(inFolder: folder.file("none")) }
        let url = try #require(URL(string: "https://host/folder"))
        #expect(throws: SessionError.self) { try SecurityPolicy.certificates(inFolder: url) }
    }

    @Test(arguments: [PinningMode.publicKey, .certificate])
    func acceptsChainsWithMatchingPins(mode: PinningMode) {
        let httpbin = chains.httpbin
        for pins in [
            [chains.leaf], [chains.intermediate], [chains.root], [chains.leaf, chains.intermediate, chains.root],
            [chains.leaf, chains.unrelated],
        ] {
            #expect(reason(policy(mode, pins), httpbin) == nil)
            #expect(reason(policy(mode, pins), httpbin, "httpbin.test") == nil)
            #expect(reason(policy(mode, pins), httpbin, "www.httpbin.test") == nil)
        }
    }

    @Test(arguments: [PinningMode.publicKey, .certificate])
    func refusesChainsWithoutMatchingPin(mode: PinningMode) {
        #expect(reason(policy(mode), chains.httpbin) == .pin)
        #expect(reason(policy(mode, [chains.leaf]), chains.adn) == .pin)
        #expect(reason(policy(mode, [chains.leaf]), chains.httpbin, "httpbin.test.evil") == .wrongHost)
        #expect(reason(policy(mode, [chains.leaf, chains.unrelated]), chains.adn) == .pin)
    }

    @Test func validatesDomainNameUnlessDisabled() {
        #expect(reason(policy { $0.validatesDomainName = false }, chains.httpbin, "invalid.test") == nil)
        #expect(reason(policy(), chains.httpbin, "invalid.test") == .wrongHost)
        let lenient: (inout SecurityPolicy) -> Void = { $0.allowsInvalidCertificates = true }
        let own = policy(.publicKey, [chains.selfSigned], lenient)
        #expect(reason(own, [chains.selfSigned.der], "foobar.test") == nil)
        // A common name is not a host name of the certificate; AFNetworking accepted it.
        let nameless = policy(.publicKey, [chains.noNames], lenient)
        #expect(reason(nameless, [chains.noNames.der], "foobar.test") == .wrongHost)
        #expect(
            reason(policy(.certificate, [chains.noNames], lenient), [chains.noNames.der], "foobar.test") == .wrongHost)
    }

    @Test func allowsInvalidCertificatesButChecksPinsAndNames() {
        let lenient: (inout SecurityPolicy) -> Void = { $0.allowsInvalidCertificates = true }
        let shown = [chains.selfSigned.der]
        #expect(reason(policy(.none, [], lenient), shown) == nil)
        #expect(reason(policy(.publicKey, [chains.selfSigned], lenient), shown, "foobar.test") == nil)
        #expect(reason(policy(.certificate, [chains.selfSigned], lenient), shown, "foobar.test") == nil)
        #expect(
            reason(
                policy {
                    $0.allowsInvalidCertificates = true; $0.validatesDomainName = false
                }, shown, "foobar.test") == nil)
        #expect(reason(policy(), shown) == .selfSigned)
        #expect(reason(policy(.publicKey, [], lenient), shown, "foobar.test") == .pin)
        // The name decides; AFNetworking refused whatever it was.
        #expect(reason(policy(.none, [], lenient), shown, "foobar.test") == nil)
        #expect(reason(policy(.none, [], lenient), shown, "other.test") == .wrongHost)
        // Pins that the mode would ignore are no policy.
        let ignored = policy(.none, [chains.selfSigned], lenient)
        #expect { try ignored.evaluate(shown, host: "foobar.test") } throws: {
            ($0 as? SessionError)?.code == .invalidInput
        }
    }

    @Test func appendedPinnedCertificateIsNotAccepted() {
        for mode in [PinningMode.publicKey, .certificate] {
            for pin in [chains.leaf, chains.intermediate, chains.root] {
                let lenient = policy(mode, [pin]) { $0.allowsInvalidCertificates = true }
                #expect(reason(lenient, [chains.selfSigned.der] + chains.httpbin, "foobar.test") == .pin)
            }
        }
    }

    @Test func copiesAndCodingPreservePolicy() throws {
        var policy = policy(.publicKey, [chains.leaf])
        policy.rules = [.init("*.test", pinning: .init(keys: ["sha256//x"]))]
        policy.verificationDate = Date(timeIntervalSince1970: 1_000_000)
        let decoded = try JSONDecoder().decode(SecurityPolicy.self, from: JSONEncoder().encode(policy))
        #expect(decoded == policy)
        var copy = policy
        copy.allowsInvalidCertificates = true
        #expect(copy != policy)
        #expect(copy.pinnedCertificates == policy.pinnedCertificates)
    }

    @Test func appliesDigestsBackupPinsRulesAndDates() throws {
        let report = try policy().evaluate(chains.httpbin, host: "httpbin.test")
        let pin = try #require(report.chain.first?.pin)
        #expect(pin == "sha256//" + chains.leaf.publicKeySHA256.base64EncodedString())
        let wrong = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
        #expect(reason(policy { $0.pinning = .init(mode: .publicKey, keys: [wrong, pin]) }, chains.httpbin) == nil)
        #expect(reason(policy { $0.pinning = .init(mode: .publicKey, keys: [wrong]) }, chains.httpbin) == .pin)
        #expect(reason(policy { $0.pinning = .init(keys: []) }, chains.httpbin) == .pin)
        #expect(reason(policy { $0.pinning = .init() }, chains.httpbin) == nil)
        let ruled = policy { $0.rules = [.init("*.httpbin.test", pinning: .init(mode: .publicKey, keys: [wrong]))] }
        #expect(reason(ruled, chains.httpbin, "httpbin.test") == nil)
        #expect(reason(ruled, chains.httpbin, "WWW.httpbin.test.") == .pin)
        var reporting = policy { $0.pinning = .init(mode: .publicKey, keys: [wrong]) }
        reporting.pinning.onlyReports = true
        #expect(try reporting.evaluate(chains.httpbin).pinning == .reported)
        reporting.pinning.onlyReports = false
        reporting.pinning.expires = Date(timeIntervalSinceNow: -1)
        #expect(try reporting.evaluate(chains.httpbin).pinning == .expired)
        reporting.pinning.expires = Date(timeIntervalSinceNow: 3600)
        #expect(reason(reporting, chains.httpbin) == .pin)
        var leafOnly = policy(.certificate, [chains.root])
        leafOnly.pinning.match = .leaf
        #expect(reason(leafOnly, chains.httpbin) == .pin)
        #expect(
            reason(policy { $0.verificationDate = Date(timeIntervalSinceNow: 400 * 86_400) }, chains.httpbin)
                == .expired)
    }

    @Test func reportDescribesPresentedChain() throws {
        let report = try policy().evaluate(chains.httpbin, host: "httpbin.test")
        #expect(report.isAccepted && report.isVerified && report.reason == nil)
        #expect(report.host == "httpbin.test")
        #expect(report.chain.map(\.der) == chains.httpbin)
        #expect(report.chain.map(\.subject) == ["CN=httpbin.test", "CN=Test Intermediate", "CN=Root"])
        #expect(report.chain.first?.names == ["httpbin.test", "*.httpbin.test"])
        #expect(report.chain.allSatisfy { $0.notBefore < Date() && Date() < $0.notAfter })
    }

    @Test func handlerOverridesVerdict() {
        let handled = { (decision: TrustHandler.Decision) in
            policy { $0.handler = TrustHandler { _ in decision } }
        }
        #expect(reason(handled(.keep), chains.httpbin) == nil)
        #expect(reason(handled(.keep), [chains.selfSigned.der]) == .selfSigned)
        #expect(reason(handled(.accept), [chains.selfSigned.der]) == nil)
        #expect(reason(handled(.refuse), chains.httpbin) == .handler)
    }

    @Test func refusesUnreadablePolicyAndChain() {
        let nonsense = Data("nonsense".utf8)
        let bad: [(inout SecurityPolicy) -> Void] = [
            { $0.anchors = .pem(nonsense) }, { $0.pinning = .init(mode: .publicKey, keys: ["sha256//"]) },
            { $0.pinning = .init(mode: .certificate, certificates: [nonsense]) }, { $0.revocationLists = [nonsense] },
            { $0.rules = [.init("a..b")] }, { $0.rules = [.init("a\0b")] }, { $0.securityLevel = 9 },
            { $0.pinning = .init(mode: .publicKey, keys: ["a\0b"]) },
        ]
        for change in bad {
            #expect { try policy(.none, [], change).evaluate(chains.httpbin) } throws: {
                ($0 as? SessionError)?.code == .invalidInput
            }
        }
        // Beside good ones they would pass unnoticed, and with an empty list revocation would be off.
        let good = [chains.intermediate.der, chains.root.der], two = chains.intermediate.der + chains.root.der
        let ignored: [(String, (inout SecurityPolicy) -> Void)] = [
            ("empty data among the revocation lists: expected DER or PEM", { $0.revocationLists = [Data()] }),
            ("empty data among the intermediates: expected DER or PEM", { $0.intermediates = good + [Data()] }),
            ("the intermediates: certificate number 3 is invalid", { $0.intermediates = good + [nonsense] }),
            ("the intermediates: certificate number 3 is invalid", { $0.intermediates = good + [two] }),
            (
                "empty data among the pinned certificates: expected DER or PEM",
                { $0.pinning = .init(mode: .certificate, certificates: Set(good + [Data()])) }
            ),
        ]
        for (message, change) in ignored {
            #expect { try policy(.none, [], change).evaluate(chains.httpbin) } throws: {
                ($0 as? SessionError)?.code == .invalidInput && ($0 as? SessionError)?.message == message
            }
        }
        #expect { try policy().evaluate([]) } throws: { ($0 as? SessionError)?.code == .invalidInput }
        #expect { try policy().evaluate([nonsense]) } throws: { ($0 as? SessionError)?.code == .invalidInput }
        #expect { try policy().evaluate(chains.httpbin, host: "httpbin.test\0evil") } throws: {
            ($0 as? SessionError)?.code == .invalidInput
        }
    }
}
