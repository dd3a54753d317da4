import Foundation
import Postgres
import Wire

/// The position of a post in a feed: newest first.
///
/// Posts of the same moment are ordered by author and number, descending.
struct FeedPosition: Hashable, Sendable {
    let key: PostKey
    /// With the precision of the table, one microsecond.
    let createdAt: Date
}

extension FeedPosition: Codable {
    private enum CodingKeys: String, CodingKey {
        case author = "a"
        case number = "n"
        case microseconds = "t"
    }

    // Encoded as microseconds, because times in JSON have milliseconds.
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
    init(row: PostgresRow) throws {
        self.init(key: try PostKey(row: row), createdAt: try row.date("created_at"))
    }
}

extension Date {
    /// Microseconds since 1970, the precision of PostgreSQL.
    var microseconds: Int64 { Int64((timeIntervalSince1970 * 1_000_000).rounded()) }

    init(microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
