import PhotosAPI
import Postgres
import Wire

/// Which post: its author, and its number among his.
///
/// The number is his own count, taken under the lock of his row in `people` and never given twice.
struct PostKey: Hashable, Sendable {
    let author: Person.ID
    let number: Int64

    init(author: Person.ID, number: Int64) {
        self.author = author
        self.number = number
    }

    /// A `postId` of the wire; nil for what can be none.
    init?(_ postID: String) {
        let parts = postID.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let author = PublicNumber.read(parts[0]), let number = PublicNumber.read(parts[1])
        else { return nil }
        self.init(author: Person.ID(author), number: number)
    }

    /// From the columns `author_id` and `number`.
    init(row: PostgresRow) throws {
        self.init(author: try row.decode("author_id"), number: try row.int64("number"))
    }

    /// The `postId` of the wire.
    var postID: String { "\(author)-\(number)" }
}

/// Numbers as ids on the wire have them.
enum PublicNumber {
    /// One spelling for one number: no sign, no leading zero; nil for anything else.
    static func read(_ text: some StringProtocol) -> Int64? {
        guard let number = Int64(text), number > 0, "\(number)" == text else { return nil }
        return number
    }
}
