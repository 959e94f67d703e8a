// What a program that knows the documents would declare.

struct Tweets: Codable, Sendable {
    struct Status: Codable {
        struct Metadata: Codable { var result_type: String; var iso_language_code: String }
        struct Entities: Codable {
            struct Hashtag: Codable { var text: String; var indices: [Int] }
            struct Mention: Codable { var screen_name: String; var indices: [Int] }
            var hashtags: [Hashtag]
            var urls: [String]
            var symbols: [String]
            var user_mentions: [Mention]
        }
        var metadata: Metadata
        var created_at: String
        var id: Int64
        var id_str: String
        var text: String
        var truncated: Bool
        var in_reply_to_status_id: Int64?
        var geo: String?
        var source: String
        var user: User
        var retweet_count: Int
        var favorited: Bool
        var lang: String
        var entities: Entities
    }
    struct User: Codable {
        var id: Int64
        var id_str: String
        var name: String
        var screen_name: String
        var location: String
        var description: String
        var url: String?
        var protected: Bool
        var followers_count: Int
        var friends_count: Int
        var created_at: String
        var utc_offset: Int?
        var time_zone: String?
        var verified: Bool
        var lang: String
        var contributors_enabled: Bool
        var profile_background_color: String
        var profile_background_tile: Bool
        var profile_link_color: String
        var profile_image_url: String
        var profile_image_url_https: String
        var profile_use_background_image: Bool
        var default_profile: Bool
        var following: Bool
        var notifications: Bool?
    }
    struct SearchMetadata: Codable { var completed_in: Double; var count: Int; var query: String }
    var statuses: [Status]
    var search_metadata: SearchMetadata
}

struct Programme: Codable, Sendable {
    struct Event: Codable {
        var description: String?
        var id: Int64
        var logo: String?
        var name: String
        var subTopicIds: [Int]
        var subjectCode: String?
        var subtitle: String?
        var topicIds: [Int]
    }
    struct Performance: Codable {
        struct Price: Codable { var amount: Int; var audienceSubCategoryId: Int; var seatCategoryId: Int }
        struct Category: Codable {
            struct Area: Codable { var areaId: Int; var blockIds: [Int] }
            var areas: [Area]
            var seatCategoryId: Int
        }
        var eventId: Int64
        var id: Int64
        var logo: String?
        var name: String?
        var prices: [Price]
        var seatCategories: [Category]
        var seatMapImage: String?
        var start: Int64
        var venueCode: String
    }
    var areaNames: [String: String]
    var events: [String: Event]
    var performances: [Performance]
    var venueNames: [String: String]
}

struct Coast: Codable, Sendable {
    struct Feature: Codable {
        struct Geometry: Codable { var type: String; var coordinates: [[[Double]]] }
        var type: String
        var properties: [String: String]
        var geometry: Geometry
    }
    var type: String
    var features: [Feature]
}
