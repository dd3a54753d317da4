import PhotosAPI
import Postgres
import Wire

/// The key of a post: its author, and its number among the author's posts.
///
/// The number comes from a counter in the author's row in `people`, under the row's lock, and is never reused.
struct PostKey: Hashable, Sendable {
    let author: Person.ID
    let number: Int64

    init(author: Person.ID, number: Int64) {
        self.author = author
        self.number = number
    }

    /// Parses a `postId` of the API; nil for a malformed id.
    init?(_ postID: String) {
        let parts = postID.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let author = PublicNumber.read(parts[0]), let number = PublicNumber.read(parts[1])
        else { return nil }
        self.init(author: Person.ID(author), number: number)
    }

    init(row: PostgresRow) throws {
        self.init(author: try row.decode("author_id"), number: try row.int64("number"))
    }

    var postID: String { "\(author)-\(number)" }
}

enum PublicNumber {
    /// Parses a positive number in its only valid spelling, without sign and leading zeros; nil for other text.
    static func read(_ text: some StringProtocol) -> Int64? {
        guard let number = Int64(text), number > 0, "\(number)" == text else { return nil }
        return number
    }
}
