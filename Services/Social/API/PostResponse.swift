package import Foundation
import Wire

/// An element of what is posted.
package enum PostElement: String, Codable, CaseIterable, Sendable, CodingKeyRepresentable {
    case text, photo, video, location, like, favorite, reply

    package var capability: Capability {
        switch self {
        case .text: .text
        case .photo: .photo
        case .video: .video
        case .location: .location
        case .like: .like
        case .favorite: .favorite
        case .reply: .reply
        }
    }
}

/// What came of a post on one network.
package struct PostResult: Codable, Hashable, Sendable {
    /// A status of HTTP: 200 posted; 422 the network does not take it; 504 nobody knows whether it was posted.
    package var code: Int
    /// `network:nativeId`, where the network tells it.
    package var id: String?
    package var url: String?
    package var reason: String?
    /// Of each element that was sent here: 200 it is part of the post, 422 the network does not take it.
    package var parts: [PostElement: Int]

    package init(
        code: Int,
        id: String? = nil,
        url: String? = nil,
        reason: String? = nil,
        parts: [PostElement: Int] = [:]
    ) {
        self.code = code
        self.id = id
        self.url = url
        self.reason = reason
        self.parts = parts
    }
}

/// What every post answers, as the seed has it.
package struct PostResponse: Codable, Hashable, Sendable {
    package struct Meta: Codable, Hashable, Sendable {
        package var code = 200

        package init() {}
    }

    package struct Outcome: Codable, Hashable, Sendable {
        package var code = 200
        /// By the networks' names as they were sent.
        package var results: [String: PostResult]

        package init(results: [String: PostResult]) { self.results = results }
    }

    package var meta = Meta()
    package var data: Outcome

    package init(_ results: [String: PostResult]) { data = Outcome(results: results) }
}

/// A post for later.
package struct ScheduledPost: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "scheduled"

    package enum State: String, Codable, Sendable { case waiting, done }

    package var id: UUID
    package var at: Date
    package var state: State
    package var text: String?
    package var networks: [String]
    /// Once it is done.
    package var results: [String: PostResult]?

    package init(
        id: UUID,
        at: Date,
        state: State,
        text: String?,
        networks: [String],
        results: [String: PostResult]? = nil
    ) {
        self.id = id
        self.at = at
        self.state = state
        self.text = text
        self.networks = networks
        self.results = results
    }
}
