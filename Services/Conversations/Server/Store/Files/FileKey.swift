import Blobs
import ConversationsAPI
import Wire

/// The name of a file in links: the key of its blob, followed by the id of its conversation.
///
/// Together they are the primary key of the table `files`, so a link's row is found without another index.
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
