// Downloads a file, and resumes an earlier attempt: of this run, or of one that was killed.
//
//     swift run resume http://127.0.0.1:8080/ /tmp/film
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: resume URL PATH")
    exit(2)
}

let manager = HTTPSessionManager(baseURL: arguments[1])
let attempts = 5
var token: ResumeToken?

for attempt in 1...attempts {
    do throws(SessionError) {
        let download: DownloadResponse
        if let token {
            print("attempt \(attempt): resuming after \(token.bytesReceived) bytes")
            download = try await manager.download(token.url, to: .resuming(token))
        } else {
            print("attempt \(attempt)")
            download = try await manager.download("film", to: .path(arguments[2]), options: .resumes)
        }
        print("complete:", download.fileSize, "bytes at", download.filePath)
        break
    } catch {
        guard attempt < attempts, let next = error.resumeToken else { throw error }
        print("interrupted:", error.code)
        token = next
    }
}
