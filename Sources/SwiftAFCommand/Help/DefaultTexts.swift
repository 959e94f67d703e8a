import SwiftAF

/// The defaults that help texts name, as texts. Their values are taken from the code that applies them.
enum DefaultTexts {
    static let pongTimeout = Format.shortSeconds(WebSocket.Options().pongTimeout)
    static let connectTimeout = seconds(HTTPRequest.Timeouts.standard.connect)
    static let idleTimeout = seconds(HTTPRequest.Timeouts.standard.idle)
    static let redirects = "\(RedirectPolicy.follow.maximumCount)"
    /// The limit of a body that is kept in memory. What is printed or saved while it is received has no limit.
    static let bodyInMemory = size(SessionConfiguration.Limits().maximumBodySize)
    static let message = size(Int64(WebSocket.Options().maximumMessageSize))
    static let heads = size(Int64(SessionConfiguration.Limits().maximumHeaderBytes))

    private static func seconds(_ limit: Duration?) -> String { limit.map { "\($0.components.seconds)" } ?? "none" }

    /// All of them are whole numbers of their units.
    private static func size(_ bytes: Int64) -> String { Format.bytes(bytes).replacing(".0 ", with: " ") }
}
