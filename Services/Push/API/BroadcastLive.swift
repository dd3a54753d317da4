package import Foundation
import Wire

/// Somebody has gone live.
///
/// A stream is told once, by its id; those whose favourite the broadcaster is hear of it, in every application.
package struct BroadcastLive: EventContent, Hashable {
    package static let type = "broadcast.live"

    package var streamId: String
    package var broadcaster: String
    package var title: String
    /// Where it is to be seen.
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

    /// Streams of one broadcaster are told in their order.
    package var key: String { "broadcast:\(broadcaster.lowercased())" }
}
