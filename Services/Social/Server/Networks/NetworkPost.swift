import Foundation
import NIOCore
import SocialAPI

/// A post for one network, with the elements that it accepts, within its limits.
struct NetworkPost: Hashable, Sendable {
    /// A key for this post on this network, the same for every attempt; suitable as an `Idempotency-Key` or record key.
    var key: UUID
    /// The time of the first attempt; a lookup ignores earlier posts.
    var createdAt: Date
    /// Empty if only media are posted.
    var text: String
    var photos: [OutgoingMedia]
    var video: OutgoingMedia?
    var location: ItemLocation?
}

/// A photo or video to send to a network.
struct OutgoingMedia: Hashable, Sendable {
    var bytes: ByteBuffer
    /// The media type detected from the bytes, such as `image/jpeg`.
    var type: String
    /// The width in pixels, if it is known.
    var width: Int?
    var height: Int?
    var alt: String?
    /// The id of the upload in photos, if the file is one; no other post can use the same upload.
    var upload: String?
    /// A URL from which the network can fetch the file for an hour, for networks that accept no bytes (`fetchesMedia`).
    var url: String?
}

/// The result of preparing a post, which is not visible yet: uploaded media or a container.
///
/// It is stored with the post, so that publishing can continue after a crash; a connector's own JSON, without secrets.
typealias PreparedPost = NetworkCursor

struct NetworkReply: Hashable, Sendable {
    /// See `NetworkPost.key`.
    var key: UUID
    var createdAt: Date
    /// The native id of the thread, from `thread` of its item.
    var thread: String
    var text: String
}

/// The result of a write.
struct PublishedPost: Hashable, Sendable {
    /// The native id, so that `ItemID(network, id)` is the item's id; nil if the network does not return it.
    var id: String?
    var url: String?
    var budget: Budget?

    init(id: String?, url: String? = nil, budget: Budget? = nil) {
        self.id = id
        self.url = url
        self.budget = budget
    }
}
