import Blobs
import Wire

/// The key in a media URL: the key of the blob, then the owner's number.
///
/// The owner's number is part of the primary key of `blobs`, so the key alone finds the row and its shard.
struct MediaKey: Hashable, Sendable, CustomStringConvertible {
    let blob: BlobKey
    let owner: Person.ID

    init(_ blob: BlobKey, of owner: Person.ID) {
        self.blob = blob
        self.owner = owner
    }

    init?(_ text: String) {
        guard let blob = BlobKey(text.prefix(BlobKey.length)),
            let owner = PublicNumber.read(text.dropFirst(BlobKey.length))
        else { return nil }
        self.init(blob, of: Person.ID(owner))
    }

    var description: String { "\(blob)\(owner)" }

    var path: String { "/media/\(self)" }
}
