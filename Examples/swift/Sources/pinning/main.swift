// Pins the key of a server: shows the pins of its chain, then accepts only a server with one of them.
//
//     swift run pinning https://127.0.0.1:8443/ authority.pem
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: pinning URL AUTHORITY")
    exit(2)
}

var configuration = SessionConfiguration()
configuration.securityPolicy.anchors = .file(arguments[2])
let manager = HTTPSessionManager(baseURL: arguments[1], configuration: configuration)

var request = HTTPRequest("status")
request.reportsTrust = true
let chain = try await manager.response(for: request).trust?.chain ?? []
for certificate in chain {
    print(certificate.subject, certificate.pin)
}

// In a program of your own, the pins are constants, and there is a backup.
var policy = manager.securityPolicy
policy.pinning = SecurityPolicy.Pinning(keys: chain.prefix(1).map(\.pin))
manager.securityPolicy = policy
print("with its own pin:", try await manager.response(for: HTTPRequest("status")).status)

policy.pinning.keys = ["sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]
manager.securityPolicy = policy
do throws(SessionError) {
    _ = try await manager.response(for: HTTPRequest("status"))
} catch {
    print("with another pin:", error.code, error.reason?.description ?? "")
}
