import Foundation
import NIOCore
import SocialAPI

/// What is to be posted to one network: only the elements that it takes, within its limits.
struct NetworkPost: Hashable, Sendable {
    /// The same however often it is tried, and of this network alone; fit for an `Idempotency-Key`, or to make a record's
    /// key of.
    var key: UUID
    /// When it was first asked for; not before it will a look-up find the post.
    var createdAt: Date
    /// Empty where only media are posted.
    var text: String
    var photos: [OutgoingMedia]
    var video: OutgoingMedia?
    var location: ItemLocation?
}

/// A photo or film on its way to a network.
struct OutgoingMedia: Hashable, Sendable {
    var bytes: ByteBuffer
    /// By its bytes, as `image/jpeg`.
    var type: String
    /// In pixels, where it is known.
    var width: Int?
    var height: Int?
    var alt: String?
    /// The upload of photos that it is, where it was brought there before; another post may not take it.
    var upload: String?
    /// Where the network can fetch it for an hour; for networks that do not take bytes (`Connector.fetchesMedia`).
    var url: String?
}

/// What was done to prepare a post, of which nobody sees anything yet: media sent, a container made.
///
/// Kept with the post, so that publishing can go on after a crash; a connector's own JSON, without secrets.
typealias PreparedPost = NetworkCursor

/// An answer to a thread.
struct NetworkReply: Hashable, Sendable {
    /// As `NetworkPost.key`.
    var key: UUID
    var createdAt: Date
    /// The native id of the thread, as its item has it in `thread`.
    var thread: String
    var text: String
}

/// What came of a write.
struct PublishedPost: Hashable, Sendable {
    /// The native id, such that `ItemID(network, id)` is that of the item; nil where the network does not tell it.
    var id: String?
    var url: String?
    var budget: Budget?

    init(id: String?, url: String? = nil, budget: Budget? = nil) {
        self.id = id
        self.url = url
        self.budget = budget
    }
}
