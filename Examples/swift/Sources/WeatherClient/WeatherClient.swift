public import SwiftAF

/// A weather report.
public struct Weather: Codable, Sendable, Equatable {
    /// The temperature in degrees Celsius.
    public var degrees: Double
}

/// A client of your own: it hides URLs, and turns failures into what they mean.
public struct WeatherClient: Sendable {
    private let manager: HTTPSessionManager

    /// Makes a client. Tests pass the URL of their server.
    public init(baseURL: String = "https://weather.example.org/v1/", token: String) {
        manager = HTTPSessionManager(baseURL: baseURL)
        manager.headers.authorization = .bearer(token)
        manager.interceptors = [RetryPolicy(maximumRetries: 2)]
    }

    /// Returns the weather in a city; nil if the city isn't known.
    public func weather(in city: String) async throws(SessionError) -> Weather? {
        do {
            return try await manager.get("weather", parameters: ["city": city], as: Weather.self)
        } catch {
            if error.status == 404 { return nil }
            throw error
        }
    }
}
