package import Foundation
import Wire

/// Somebody's live video on Reddit.
package struct Broadcast: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "broadcasts"

    package enum State: String, Codable, Sendable {
        case live = "IS_LIVE"
        case ended = "ENDED"
    }

    /// The post's full name, as `t3_hz499b`.
    package var id: String
    package var streamId: String
    /// Without `u/` before it; nil where the account is gone.
    package var broadcaster: String?
    package var title: String
    package var url: String
    /// Without `r/` before it.
    package var community: String
    package var communityIcon: String?
    /// How many watch just now.
    package var watchers: Int
    package var upvotes: Int
    package var downvotes: Int
    package var commentCount: Int
    package var startedAt: Date?
    /// Seconds that it may still last.
    package var remaining: Double
    package var hlsUrl: String?
    package var thumbnail: String?
    package var state: State
    /// Whether the broadcaster is a favourite of who asks; left out where push does not answer.
    package var favourite: Bool?

    package init(
        id: String,
        streamId: String,
        broadcaster: String?,
        title: String,
        url: String,
        community: String,
        communityIcon: String? = nil,
        watchers: Int = 0,
        upvotes: Int = 0,
        downvotes: Int = 0,
        commentCount: Int = 0,
        startedAt: Date?,
        remaining: Double = 0,
        hlsUrl: String? = nil,
        thumbnail: String? = nil,
        state: State = .live
    ) {
        self.id = id
        self.streamId = streamId
        self.broadcaster = broadcaster
        self.title = title
        self.url = url
        self.community = community
        self.communityIcon = communityIcon
        self.watchers = watchers
        self.upvotes = upvotes
        self.downvotes = downvotes
        self.commentCount = commentCount
        self.startedAt = startedAt
        self.remaining = remaining
        self.hlsUrl = hlsUrl
        self.thumbnail = thumbnail
        self.state = state
    }
}

/// A subreddit that broadcasts come from.
package struct BroadcastCommunity: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "communities"

    package var name: String
    package var icon: String?
    /// Whether the community is on the operator's list; the others were seen with a broadcast.
    package var official: Bool

    package init(name: String, icon: String? = nil, official: Bool = false) {
        self.name = name
        self.icon = icon
        self.official = official
    }
}

/// What came of looking whom somebody follows on Reddit.
package struct FollowImport: Codable, Hashable, Sendable {
    /// How many people he follows there.
    package var found: Int
    /// Those who are favourites now and were none before; never one that was removed.
    package var added: [String]

    package init(found: Int, added: [String]) {
        self.found = found
        self.added = added
    }
}
