import Foundation
import Postgres
import Wire

/// A post's place in a feed: newest first, and among posts of one moment the later person's, his later one, first.
struct FeedPosition: Hashable, Sendable {
    let key: PostKey
    /// To the microsecond, as the table has it.
    let createdAt: Date
}

extension FeedPosition: Codable {
    private enum CodingKeys: String, CodingKey {
        case author = "a"
        case number = "n"
        case microseconds = "t"
    }

    // Times of JSON end at milliseconds.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let microseconds = try container.decode(Int64.self, forKey: .microseconds)
        self.init(
            key: PostKey(
                author: Person.ID(try container.decode(Int64.self, forKey: .author)),
                number: try container.decode(Int64.self, forKey: .number)
            ),
            createdAt: Date(microseconds: microseconds)
        )
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key.author.rawValue, forKey: .author)
        try container.encode(key.number, forKey: .number)
        try container.encode(createdAt.microseconds, forKey: .microseconds)
    }
}

extension FeedPosition {
    /// From the columns `author_id`, `number` and `created_at`.
    init(row: PostgresRow) throws {
        self.init(key: try PostKey(row: row), createdAt: try row.date("created_at"))
    }
}

extension Date {
    /// Since 1970, as PostgreSQL keeps times.
    var microseconds: Int64 { Int64((timeIntervalSince1970 * 1_000_000).rounded()) }

    init(microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
