// Uploads a file as part of a form, and shows the progress.
//
//     swift run upload http://127.0.0.1:8080/ FILE
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: upload URL FILE")
    exit(2)
}

let manager = HTTPSessionManager(baseURL: arguments[1])
let file = arguments[2]

var request = HTTPRequest(.post, "upload")
request.body = .multipart { form in
    try form.append("An example", name: "caption")
    try form.append(file: file, name: "file")
}

// Called on the network's thread, at most ten times a second and once at the end.
let response = try await manager.response(for: request) { progress in
    guard let total = progress.sentTotal, total > 0 else { return }
    let done = Int(progress.sent * 40 / total)
    print(String(repeating: "#", count: done), progress.sent * 100 / total, "%")
}
try response.validated()
print("the server responded with \(response.status)")
