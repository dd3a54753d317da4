import Blobs
import Wire

/// The name of what is served: the key of its blob, then its owner's number.
///
/// So it is looked up by the primary key, and says by itself which shard knows of it.
struct MediaKey: Hashable, Sendable, CustomStringConvertible {
    let blob: BlobKey
    let owner: Person.ID

    init(_ blob: BlobKey, of owner: Person.ID) {
        self.blob = blob
        self.owner = owner
    }

    /// Nil for what can be none.
    init?(_ text: String) {
        guard let blob = BlobKey(text.prefix(BlobKey.length)),
            let owner = PublicNumber.read(text.dropFirst(BlobKey.length))
        else { return nil }
        self.init(blob, of: Person.ID(owner))
    }

    var description: String { "\(blob)\(owner)" }

    /// Where it is served.
    var path: String { "/media/\(self)" }
}
