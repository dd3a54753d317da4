import Foundation
import ServiceClient
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Wire

/// Handles requests that write: posts, reactions, replies and scheduled posts.
struct PostService: Sendable {
    struct Files: Sendable {
        var photo: OutgoingMedia?
        var video: OutgoingMedia?
    }

    private let crossPoster: CrossPoster
    private let reactions: Reactions
    private let replies: Replies
    private let schedule: Schedule
    private let files: AttachedUploads
    let maintenance: [any Service]

    init(
        sources: Sources,
        networkGateway: NetworkGateway,
        identities: Identities,
        photos: ServiceClient,
        quota: StorageQuota,
        media: PostMedia,
        _ resources: ServiceResources
    ) {
        let (database, logger, now) = (resources.database, resources.logger, resources.now)
        let publisher = Publisher(database: database, networkGateway: networkGateway, logger: logger, now: now)
        let crossPoster = CrossPoster(
            sources: sources,
            networkGateway: networkGateway,
            identities: identities,
            publisher: publisher,
            media: media,
            now: now
        )
        let schedule = Schedule(
            database: database,
            crossPoster: crossPoster,
            cursors: resources.cursors,
            setAside: resources.setAside,
            quota: quota,
            logger: logger,
            now: now
        )
        let reconciler = OutcomeReconciler(
            database: database,
            sources: sources,
            publisher: publisher,
            setAside: resources.setAside,
            logger: logger,
            now: now
        )
        self.crossPoster = crossPoster
        self.schedule = schedule
        reactions = Reactions(sources: sources, networkGateway: networkGateway, identities: identities)
        replies = Replies(
            sources: sources,
            networkGateway: networkGateway,
            identities: identities,
            publisher: publisher,
            now: now
        )
        files = AttachedUploads(photos: photos)
        maintenance = [
            PeriodicTask("scheduled posts", every: .seconds(1), logger: logger, schedule.round),
            PeriodicTask("reconciliation of posts", every: .seconds(5), logger: logger, reconciler.round),
            PeriodicTask("sweep of posts", every: .seconds(3_600), logger: logger, schedule.sweep),
            PeriodicTask("sweep of fetched files", every: .seconds(300), logger: logger, media.sweep),
        ]
    }

    /// Handles `POST /feed` with `data`.
    func create(_ data: JSONValue, _ files: Files, for caller: Caller, key: String?) async throws -> PostResponse {
        let draft = try FeedDraft(data)
        if let like = draft.like { return try await reactions.react(.like, to: like, for: caller) }
        if let favorite = draft.favorite { return try await reactions.react(.favorite, to: favorite, for: caller) }
        return try await crossPoster.post(draft, content(of: draft, files, for: caller), for: caller, key: key)
    }

    /// Handles `POST /messages` with `data`.
    func reply(_ data: JSONValue, for caller: Caller, key: String?) async throws -> PostResponse {
        try await replies.reply(ReplyDraft(data), for: caller, key: key)
    }

    /// Handles `POST /feed/schedule`.
    func schedule(_ data: JSONValue, _ files: Files, for caller: Caller, at: Date?) async throws -> ScheduledPost {
        let draft = try FeedDraft(data)
        guard let at = at ?? draft.at else { throw APIError.missing("at") }
        guard draft.like == nil, draft.favorite == nil else {
            throw APIError.invalid("data", "likes and favourites cannot be scheduled")
        }
        return try await schedule.add(draft, content(of: draft, files, for: caller), for: caller, at: at)
    }

    func scheduled(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<ScheduledPost> {
        try await schedule.list(of: user, limit: limit, cursor: cursor)
    }

    func cancel(_ id: String, of user: User.ID) async throws { try await schedule.cancel(id, of: user) }

    private func content(of draft: FeedDraft, _ files: Files, for caller: Caller) async throws -> PostContent {
        PostContent(
            text: draft.text ?? "",
            photo: try await file(files.photo, draft.photo, for: caller, "photo"),
            video: try await file(files.video, draft.video, for: caller, "video"),
            location: draft.location.map {
                ItemLocation(latitude: $0.latitude, longitude: $0.longitude, name: $0.name)
            }
        )
    }

    private func file(
        _ sent: OutgoingMedia?,
        _ attachment: FeedDraft.Attachment?,
        for caller: Caller,
        _ element: String
    ) async throws -> OutgoingMedia? {
        if let sent { return sent }
        guard let attachment else { return nil }
        return try await files.file(attachment, for: caller, as: element)
    }
}
