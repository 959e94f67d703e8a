import Foundation
import FoundationNetworking
import SwiftAF
import SwiftAFFoundation

// Calls that take and return Foundation's types.

func sendsURLRequests(_ manager: HTTPSessionManager, _ request: URLRequest) async throws {
    let response = try await manager.response(for: request)
    print(HTTPURLResponse(response)?.mimeType ?? "", HTTPURLResponse(response.head)?.statusCode ?? 0)
    for try await line in try await manager.stream(request).lines { print(line) }
    try await manager.download(request, to: "/tmp/page.html")
    for await download in manager.downloads(of: [DownloadItem(request, to: "/tmp/page.html")]) { print(download.index) }
}

func convertsCookies(_ storage: CookieStorage) throws {
    for cookie in HTTPCookieStorage.shared.cookies ?? [] { try storage.setCookie(Cookie(cookie)) }
    print(try storage.cookies().compactMap { HTTPCookie($0) }.count)
}
