package import Foundation
import Wire

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

/// The result of a post on one network.
package struct PostResult: Codable, Hashable, Sendable {
    /// An HTTP status: 200 posted; 422 the network does not accept the post; 504 the outcome is unknown.
    package var code: Int
    /// `network:nativeId`, if the network returns the id.
    package var id: String?
    package var url: String?
    package var reason: String?
    /// The status of each element sent to this network: 200 it is part of the post; 422 the network does not accept it.
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

/// The response to every post, in the seed's format.
package struct PostResponse: Codable, Hashable, Sendable {
    package struct Meta: Codable, Hashable, Sendable {
        package var code = 200

        package init() {}
    }

    package struct Outcome: Codable, Hashable, Sendable {
        package var code = 200
        /// The results by network name, as the client wrote the name.
        package var results: [String: PostResult]

        package init(results: [String: PostResult]) { self.results = results }
    }

    package var meta = Meta()
    package var data: Outcome

    package init(_ results: [String: PostResult]) { data = Outcome(results: results) }
}

package struct ScheduledPost: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "scheduled"

    package enum State: String, Codable, Sendable { case waiting, done }

    package var id: UUID
    package var at: Date
    package var state: State
    package var text: String?
    package var networks: [String]
    /// The results, once the post is done.
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
