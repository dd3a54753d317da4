import PhotosAPI
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
        guard parts.count == 2, let author = Self.number(parts[0]), let number = Self.number(parts[1]) else {
            return nil
        }
        self.init(author: Person.ID(author), number: number)
    }

    /// The `postId` of the wire.
    var postID: String { "\(author)-\(number)" }

    /// One spelling for one number: no sign, no leading zero.
    private static func number(_ text: Substring) -> Int64? {
        guard let number = Int64(text), number > 0, "\(number)" == text else { return nil }
        return number
    }
}
