import Foundation
import ServiceClient
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Wire

/// What people write: takes a request apart and has it posted, reacted or answered.
struct Writing: Sendable {
    /// Files that came with a request.
    struct Files: Sendable {
        var photo: OutgoingMedia?
        var video: OutgoingMedia?
    }

    private let posting: Posting
    private let reactions: Reactions
    private let replies: Replies
    private let schedule: Schedule
    private let files: BroughtFiles
    /// What goes on besides requests.
    let upkeep: [any Service]

    init(
        sources: Sources,
        asking: Asking,
        identities: Identities,
        photos: ServiceClient,
        quota: StorageQuota,
        media: PostMedia,
        _ resources: ServiceResources
    ) {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let delivering = Delivering(database: database, asking: asking, logger: logger, now: now)
        let posting = Posting(
            sources: sources,
            asking: asking,
            identities: identities,
            delivering: delivering,
            media: media,
            now: now
        )
        let schedule = Schedule(
            database: database,
            posting: posting,
            cursors: resources.cursors,
            setAside: resources.setAside,
            quota: quota,
            logger: logger,
            now: now
        )
        let reconciling = Reconciling(
            database: database,
            sources: sources,
            delivering: delivering,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        self.posting = posting
        self.schedule = schedule
        reactions = Reactions(sources: sources, asking: asking, identities: identities)
        replies = Replies(
            sources: sources,
            asking: asking,
            identities: identities,
            delivering: delivering,
            now: now
        )
        files = BroughtFiles(photos: photos)
        upkeep = [
            Periodic("posts for later", every: .seconds(1), logger: logger, schedule.round),
            Periodic("look for posts", every: .seconds(5), logger: logger, reconciling.round),
            Periodic("sweep of posts", every: .seconds(3_600), logger: logger, schedule.sweep),
            Periodic("sweep of fetched files", every: .seconds(300), logger: logger, media.sweep),
        ]
    }

    /// `POST /feed` with `data`.
    func write(_ data: JSONValue, _ files: Files, for asker: Asker, key: String?) async throws -> PostAnswer {
        let draft = try FeedDraft(data)
        if let like = draft.like { return try await reactions.react(.like, to: like, for: asker) }
        if let favorite = draft.favorite { return try await reactions.react(.favorite, to: favorite, for: asker) }
        return try await posting.post(draft, content(of: draft, files, for: asker), for: asker, key: key)
    }

    /// `POST /messages` with `data`.
    func reply(_ data: JSONValue, for asker: Asker, key: String?) async throws -> PostAnswer {
        try await replies.reply(ReplyDraft(data), for: asker, key: key)
    }

    /// `POST /feed/schedule`.
    func schedule(_ data: JSONValue, _ files: Files, for asker: Asker, at: Date?) async throws -> ScheduledPost {
        let draft = try FeedDraft(data)
        guard let at = at ?? draft.at else { throw APIError.missing("at") }
        guard draft.like == nil, draft.favorite == nil else {
            throw APIError.invalid("data", "only posts are for later")
        }
        return try await schedule.add(draft, content(of: draft, files, for: asker), for: asker, at: at)
    }

    func scheduled(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<ScheduledPost> {
        try await schedule.list(of: user, limit: limit, cursor: cursor)
    }

    func cancel(_ id: String, of user: User.ID) async throws { try await schedule.cancel(id, of: user) }

    private func content(of draft: FeedDraft, _ files: Files, for asker: Asker) async throws -> PostContent {
        PostContent(
            text: draft.text ?? "",
            photo: try await file(files.photo, draft.photo, for: asker, "photo"),
            video: try await file(files.video, draft.video, for: asker, "video"),
            location: draft.location.map {
                ItemLocation(latitude: $0.latitude, longitude: $0.longitude, name: $0.name)
            }
        )
    }

    private func file(
        _ sent: OutgoingMedia?,
        _ brought: FeedDraft.Brought?,
        for asker: Asker,
        _ element: String
    ) async throws -> OutgoingMedia? {
        if let sent { return sent }
        guard let brought else { return nil }
        return try await files.file(brought, for: asker, as: element)
    }
}
