import Foundation
import SwiftAF

func f(_ manager: HTTPSessionManager, file: URL) async throws {
    let photo: User = try await manager.post(
        "photos",
        body: .multipart { form in
            try form.append(file, name: "photo")  // error: write append(file: url, name:)
        })
    print(photo)
}
