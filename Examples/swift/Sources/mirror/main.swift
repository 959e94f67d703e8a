// Mirrors a folder: reads the list of its files, and downloads a few of them at a time.
//
//     swift run mirror http://127.0.0.1:8080/ /tmp/mirror
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: mirror URL FOLDER")
    exit(2)
}

let manager = HTTPSessionManager(baseURL: arguments[1])
manager.interceptors = [RetryPolicy(maximumRetries: 3)]

// The names come from the server: none may lead out of the folder.
let names = try await manager.get("files", as: [String].self).filter { name in
    let isSafe = !name.isEmpty && !name.hasPrefix(".") && !name.contains("/") && !name.contains("\0")
    if !isSafe { print("refused the name \(name.debugDescription)") }
    return isSafe
}
let items = names.map { name in
    // `escape` is for queries, where a question mark is allowed.
    let segment = ParameterEncoder.escape(name).replacing("?", with: "%3F")
    return DownloadItem("files/\(segment)", to: .path("\(arguments[2])/\(name)"), options: .createsFolders)
}

var failed = 0
for await download in manager.downloads(of: items, maximumConcurrent: 3) {
    do {
        let file = try download.get()
        print("saved", file.filePath, file.fileSize)
    } catch {
        failed += 1
        print("failed", names[download.index], error)
    }
}
print("\(items.count - failed) of \(items.count) files")
