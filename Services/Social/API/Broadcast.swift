package import Foundation
import Wire

/// A live video broadcast on Reddit.
package struct Broadcast: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "broadcasts"

    package enum State: String, Codable, Sendable {
        case live = "IS_LIVE"
        case ended = "ENDED"
    }

    /// The full name of the Reddit post, such as `t3_hz499b`.
    package var id: String
    package var streamId: String
    /// The Reddit user name without `u/`; nil if the account was deleted.
    package var broadcaster: String?
    package var title: String
    package var url: String
    /// The name of the subreddit without `r/`.
    package var community: String
    package var communityIcon: String?
    /// The number of current viewers.
    package var watchers: Int
    package var upvotes: Int
    package var downvotes: Int
    package var commentCount: Int
    package var startedAt: Date?
    /// The seconds that the broadcast may still last.
    package var remaining: Double
    package var hlsUrl: String?
    package var thumbnail: String?
    package var state: State
    /// Whether the caller has the broadcaster as a favourite; absent if push is not configured or does not respond.
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

/// A subreddit with broadcasts.
package struct BroadcastCommunity: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "communities"

    package var name: String
    package var icon: String?
    /// Whether the operator listed the community.
    ///
    /// The other communities were found through a broadcast.
    package var official: Bool

    package init(name: String, icon: String? = nil, official: Bool = false) {
        self.name = name
        self.icon = icon
        self.official = official
    }
}

/// The result of importing followed Reddit users as favourites.
package struct FollowImport: Codable, Hashable, Sendable {
    /// The number of users that the user follows on Reddit.
    package var found: Int
    /// The names of the new favourites.
    ///
    /// A favourite that the user removed earlier is not added again.
    package var added: [String]

    package init(found: Int, added: [String]) {
        self.found = found
        self.added = added
    }
}
