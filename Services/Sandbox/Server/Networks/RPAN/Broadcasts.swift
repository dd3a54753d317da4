package import Foundation
import Locks
import Wire

package struct SandboxBroadcast: Codable, Sendable {
    /// The post's full name, such as `t3_hz499b`.
    package var id: String
    package var broadcaster: String?
    package var community: String
    package var title: String
    package var startedAt: Date
    package var endedAt: Date?
    package var watchers: Int
    /// Whether Reddit already reports the start time.
    package var isPublished = true
}

/// The live broadcasts, and the number of times that clients polled the list.
package final class Broadcasts: Sendable {
    struct Draft: Decodable {
        var broadcaster: String?
        var community: String?
        var title: String?
        var watchers: Int?
        /// Leaves `stream.publish_at` empty, as at the start of a real broadcast.
        var unpublished: Bool?
        var deleted: Bool?
    }

    static let communities = [
        "pan", "AnimalsOnReddit", "distantsocializing", "GlamourSchool", "HeadlineWorthy", "lgbt", "readwithme",
        "RedditInTheKitchen", "RedditMasterClasses", "RedditSessions", "RedditSets", "RedditSweats", "ShortCircuit",
        "TableTopLive", "TalentShow", "TheArtistStudio", "TheGamerLounge", "TheYouShow", "WhereInTheWorld",
    ]

    private struct State {
        var all: [SandboxBroadcast] = []
        var last = 0
        var polls = 0
    }

    private let state = Lock(State())
    private let clock: SandboxClock

    init(clock: SandboxClock) {
        self.clock = clock
        for (number, name) in ["pianist", "painter", "gardener"].enumerated() {
            let community = ["RedditSessions", "TheArtistStudio", "pan"][number]
            let broadcast = begin(
                Draft(broadcaster: name, community: community, title: "\(name.capitalized) live", watchers: 57 - number)
            )
            state.withLock { state in
                for index in state.all.indices where state.all[index].id == broadcast.id {
                    state.all[index].startedAt -= Double(600 * (number + 1))
                }
            }
        }
        // Ids depend on the start time, so that clients do not mistake a new broadcast for one from before a restart.
        state.withLock { $0.last += Int(clock.now.timeIntervalSince1970) }
    }

    /// The live broadcasts, the most watched first.
    package var live: [SandboxBroadcast] {
        state.withLock { state in
            state.all.filter { $0.endedAt == nil }.sorted { ($0.watchers, $0.id) > ($1.watchers, $1.id) }
        }
    }

    package var polls: Int { state.withLock { $0.polls } }

    /// Starts a broadcast; a nil broadcaster means that the author's account is deleted.
    @discardableResult
    package func begin(
        _ broadcaster: String?,
        in community: String = "RedditSessions",
        title: String = "Live piano",
        watchers: Int = 12,
        isPublished: Bool = true
    ) -> SandboxBroadcast {
        var draft = Draft(broadcaster: broadcaster, community: community, title: title, watchers: watchers)
        draft.unpublished = !isPublished
        draft.deleted = broadcaster == nil
        return begin(draft)
    }

    func begin(_ draft: Draft) -> SandboxBroadcast {
        let now = clock.now
        return state.withLock { state in
            state.last += 1
            let broadcast = SandboxBroadcast(
                id: "t3_hz\(String(40_000 + state.last * 37, radix: 36))",
                broadcaster: draft.deleted == true ? nil : draft.broadcaster ?? "pianist",
                community: draft.community ?? "RedditSessions",
                title: draft.title ?? "Live",
                startedAt: now,
                watchers: draft.watchers ?? 12,
                isPublished: draft.unpublished != true
            )
            state.all.append(broadcast)
            return broadcast
        }
    }

    @discardableResult
    package func end(_ id: String) -> Bool {
        change(id) { [now = clock.now] in $0.endedAt = now }
    }

    /// Publishes the start time of a broadcast, and returns whether the broadcast exists.
    @discardableResult
    package func publish(_ id: String) -> Bool { change(id) { $0.isPublished = true } }

    func find(_ id: String) -> SandboxBroadcast? {
        state.withLock { $0.all.first { $0.id == id || $0.id == "t3_\(id)" } }
    }

    func countPoll() { state.withLock { $0.polls += 1 } }

    private func change(_ id: String, _ body: (inout SandboxBroadcast) -> Void) -> Bool {
        state.withLock { state in
            guard let index = state.all.firstIndex(where: { $0.id == id }) else { return false }
            body(&state.all[index])
            return true
        }
    }
}
