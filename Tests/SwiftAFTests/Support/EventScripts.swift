import AFTestServer
import FoundationEssentials

/// Responses of a server that sends events.
extension Script {
    static let eventFields: Headers = ["Content-Type": "text/event-stream"]

    /// A stream that ends after its text.
    static func events(_ text: String) -> Script {
        .respond(headers: eventFields, body: Data(text.utf8))
    }

    /// A stream whose connection is lost after its text.
    static func lostEvents(_ text: String) -> Script {
        [.chunkedHead(headers: eventFields), .chunk(Data(text.utf8)), .close]
    }
}
