import Blobs
import ConversationsAPI
import Wire

/// A file's name in links: the key of its blob, then its conversation's id.
///
/// The file is found by the primary key, and its name determines the shard that has its row.
struct FileKey: Hashable, Sendable, CustomStringConvertible {
    let blob: BlobKey
    let conversation: Conversation.ID

    init(blob: BlobKey, conversation: Conversation.ID) {
        self.blob = blob
        self.conversation = conversation
    }

    /// Nil for text that cannot be a file's name.
    init?(_ text: String) {
        let number = text.dropFirst(BlobKey.length)
        guard let blob = BlobKey(text.prefix(BlobKey.length)), let id = Int64(number), id > 0, "\(id)" == number else {
            return nil
        }
        self.init(blob: blob, conversation: Conversation.ID(id))
    }

    var description: String { "\(blob)\(conversation)" }
}
