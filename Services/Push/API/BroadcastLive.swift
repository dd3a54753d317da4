package import Foundation
import Wire

/// An event: a broadcaster started a live stream.
///
/// Push sends one notification for each `streamId` to the users of all applications who have the broadcaster as a
/// favourite.
package struct BroadcastLive: EventContent, Hashable {
    package static let type = "broadcast.live"

    package var streamId: String
    package var broadcaster: String
    package var title: String
    package var url: String
    package var community: String?
    package var image: String?
    package var startedAt: Date

    package init(
        streamId: String,
        broadcaster: String,
        title: String,
        url: String,
        community: String? = nil,
        image: String? = nil,
        startedAt: Date
    ) {
        self.streamId = streamId
        self.broadcaster = broadcaster
        self.title = title
        self.url = url
        self.community = community
        self.image = image
        self.startedAt = startedAt
    }

    /// Consumers receive the events of one broadcaster in order.
    package var key: String { "broadcast:\(broadcaster.lowercased())" }
}
