import SwiftAF

/// A document that is measured: text that is the same on every machine, in the shape of one of the three that JSON
/// parsers are compared with everywhere. Made from a seed, not copied.
struct Document {
    let name: String
    let text: String

    /// Tweets: short texts in many scripts with escapes, many keys, deep nesting. About 600 KB.
    static func tweets() -> Document {
        var maker = Maker(seed: 1)
        let statuses = (0..<400).map { _ in maker.status() }
        let value: JSONValue = [
            "statuses": .array(statuses),
            "search_metadata": ["completed_in": 0.087, "count": 400, "query": "%E4%B8%80"],
        ]
        return Document(name: "tweets", text: maker.text(value, []))
    }

    /// A season's programme: objects keyed by numbers, integers, nulls, indented. About 1.7 MB.
    static func programme() -> Document {
        var maker = Maker(seed: 2)
        let ids = (0..<680).map { 138_586_341 + Int64($0) * 17 }
        let events = JSONObject(ids.map { ("\($0)", maker.event($0)) })
        let performances = ids.map { maker.performance(of: $0) }
        let names = JSONObject((0..<400).map { ("\(205_705_990 + $0)", JSONValue.string(maker.words(2))) })
        let value: JSONValue = [
            "areaNames": .object(names), "events": .object(events), "performances": .array(performances),
            "venueNames": ["PLEYEL_PLEYEL": "Salle Pleyel"],
        ]
        return Document(name: "programme", text: maker.text(value, .prettyPrinted))
    }

    /// A coast line: arrays of pairs of numbers with 15 to 17 digits. About 2.2 MB.
    static func coast() -> Document {
        var maker = Maker(seed: 3)
        let rings = (0..<480).map { _ in
            "["
                + (0..<116).map { _ in "[\(maker.coordinate(-141, -52)),\(maker.coordinate(41, 83))]" }
                .joined(separator: ",") + "]"
        }
        let text = """
            {"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"Coast"},\
            "geometry":{"type":"Polygon","coordinates":[\(rings.joined(separator: ","))]}}]}
            """
        return Document(name: "coast", text: text)
    }
}

/// Draws the parts of documents.
private struct Maker {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// A number from 0 to `bound - 1`, by SplitMix64.
    private mutating func number(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }

    private static let vocabulary = [
        "river", "mountain", "Straße", "été", "市場", "東京", "さくら", "привет", "😀", "100%", "\"quoted\"", "line\nbreak",
        "http://example.org/a/b?c=d", "music", "tomorrow", "a\\b", "ありがとうございます", "window", "light", "concert",
    ]

    mutating func words(_ count: Int) -> String {
        (0..<count).map { _ in Self.vocabulary[number(below: Self.vocabulary.count)] }.joined(separator: " ")
    }

    func text(_ value: JSONValue, _ options: JSONValue.WritingOptions) -> String {
        do {
            return try value.text(options: options)
        } catch {
            fail("a document can't be written: \(error)")
        }
    }

    mutating func coordinate(_ low: Int, _ high: Int) -> String {
        let whole = low + number(below: high - low)
        return "\(whole).\(100_000 + number(below: 900_000))\(100_000_000 + number(below: 900_000_000))"
    }

    mutating func status() -> JSONValue {
        let id = Int64(505_874_847_260_352_513) + Int64(number(below: 1_000_000_000))
        return [
            "metadata": ["result_type": "recent", "iso_language_code": "ja"],
            "created_at": "Sun Aug 31 00:29:15 +0000 2014", "id": .integer(id), "id_str": .string("\(id)"),
            "text": .string(words(12)), "truncated": false, "in_reply_to_status_id": nil, "geo": nil,
            "source": "<a href=\"http://example.org/client\" rel=\"nofollow\">a client</a>", "user": user(),
            "retweet_count": .integer(Int64(number(below: 1000))), "favorited": false, "lang": "ja",
            "entities": [
                "hashtags": [["text": .string(words(1)), "indices": [3, 14]]], "urls": [], "symbols": [],
                "user_mentions": [["screen_name": .string("user\(number(below: 9999))"), "indices": [0, 12]]],
            ],
        ]
    }

    private mutating func user() -> JSONValue {
        let id = number(below: 3_000_000_000)
        return [
            "id": .integer(Int64(id)), "id_str": .string("\(id)"), "name": .string(words(2)),
            "screen_name": .string("user\(id)"), "location": .string(words(1)), "description": .string(words(14)),
            "url": nil, "protected": false, "followers_count": .integer(Int64(number(below: 100_000))),
            "friends_count": .integer(Int64(number(below: 5000))), "created_at": "Mon Oct 17 18:37:59 +0000 2011",
            "utc_offset": nil, "time_zone": nil, "verified": false, "lang": "ja", "contributors_enabled": false,
            "profile_background_color": "C0DEED", "profile_background_tile": false, "profile_link_color": "0084B4",
            "profile_image_url": .string("http://images.example.org/profile/\(id)/normal.jpeg"),
            "profile_image_url_https": .string("https://images.example.org/profile/\(id)/normal.jpeg"),
            "profile_use_background_image": true, "default_profile": true, "following": false, "notifications": nil,
        ]
    }

    mutating func event(_ id: Int64) -> JSONValue {
        [
            "description": nil, "id": .integer(id),
            "logo": number(below: 2) == 0 ? nil : "/images/UE0AAAAACEKo6QAAAAZDSVRN",
            "name": .string(words(3)), "subTopicIds": numbers(4, from: 337_184_262), "subjectCode": nil,
            "subtitle": nil,
            "topicIds": numbers(3, from: 324_846_099),
        ]
    }

    mutating func performance(of event: Int64) -> JSONValue {
        let categories = (0..<2).map { _ -> JSONValue in
            let areas = (0..<6).map { _ -> JSONValue in
                ["areaId": .integer(Int64(205_705_990 + number(below: 400))), "blockIds": []]
            }
            return ["areas": .array(areas), "seatCategoryId": .integer(Int64(338_937_235 + number(below: 90)))]
        }
        let prices = (0..<4).map { _ -> JSONValue in
            [
                "amount": .integer(Int64(10_000 + number(below: 90_000))), "audienceSubCategoryId": 337_100_890,
                "seatCategoryId": .integer(Int64(338_937_235 + number(below: 90))),
            ]
        }
        return [
            "eventId": .integer(event), "id": .integer(event + 1_000_000), "logo": nil, "name": nil,
            "prices": .array(prices), "seatCategories": .array(categories), "seatMapImage": nil,
            "start": .integer(Int64(1_372_701_600_000) + Int64(number(below: 1_000_000_000))),
            "venueCode": "PLEYEL_PLEYEL",
        ]
    }

    private mutating func numbers(_ count: Int, from base: Int64) -> JSONValue {
        .array((0..<count).map { _ in .integer(base + Int64(number(below: 30))) })
    }
}
