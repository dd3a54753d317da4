import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Scheduled posts: stored with their files, and posted when due by the instance that claims them.
struct Schedule: Sendable {
    /// The maximum number of waiting posts per user.
    private static let maximum = 100
    /// The maximum size of their files in bytes, if the quota is not smaller.
    private static let maximumBytes: Int64 = 268_435_456
    /// The maximum time ahead in seconds: a year.
    private static let horizon: TimeInterval = 31_622_400
    /// The time that an instance has to publish a post, and the time for which a failing post is retried, in seconds.
    private static let claim: TimeInterval = 60
    private static let retryWindow: TimeInterval = 3_600
    /// The time for which the result of a post can be read, in seconds.
    private static let retention: TimeInterval = 2 * 86_400

    let database: PostgresPool
    let crossPoster: CrossPoster
    let cursors: CursorSigner
    let setAside: SetAside
    let quota: StorageQuota
    let logger: Logger
    let now: @Sendable () -> Date

    func add(_ draft: FeedDraft, _ content: PostContent, for caller: Caller, at: Date) async throws -> ScheduledPost {
        guard at > now(), at < now().addingTimeInterval(Self.horizon) else {
            throw APIError.invalid("at", "the time of a scheduled post must be in the future and within a year")
        }
        // Errors are reported now, not when the post is due. The accounts in the request's `meta` are not available
        // then.
        _ = try await crossPoster.requirePlan(draft, content, for: Caller(user: caller.user))
        let record = PostRecord(
            id: UUID(),
            user: caller.user,
            draft: draft,
            createdAt: now(),
            dueAt: at,
            isScheduled: true
        )
        let quota = StorageQuota(bytes: min(Self.maximumBytes, quota.maximum))
        return try await database.transaction { db in
            // A lock on the user's scheduled posts, so that two requests at once cannot exceed the limits.
            let waiting = try await PostStore(db: db).lockWaiting(of: caller.user)
            guard waiting.posts < Self.maximum else {
                throw APIError(
                    .unprocessable,
                    "too_many_scheduled",
                    "at most \(Self.maximum) scheduled posts may be waiting"
                )
            }
            if content.bytes > 0 { try quota.require(Int64(waiting.bytes), room: Int64(content.bytes)) }
            _ = try await PostStore(db: db).insert(record, expiry: .distantPast)
            try await MediaStore(db: db).insert(content, of: record.id)
            return try await IdempotentRequest.keep(Self.described(record, []), in: db)
        }
    }

    func list(of user: User.ID, limit: Int, cursor: String?) async throws -> Page<ScheduledPost> {
        let position = try cursor.map {
            try cursors.position($0, of: "social/scheduled", for: user, as: ScheduledPosition.self)
        }
        var posts = try await PostStore(db: database).scheduled(of: user, after: position, limit: limit + 1)
        let hasMore = posts.count > limit
        posts = Array(posts.prefix(limit))
        let publications = try await PublicationStore(db: database).all(of: posts.map(\.id))
        let next = hasMore ? posts.last.map { ScheduledPosition(at: $0.dueAt, id: $0.id) } : nil
        return Page(
            posts.map { post in Self.described(post, publications.filter { $0.post == post.id }) },
            next: try next.map { try cursors.sign($0, of: "social/scheduled", for: user) }
        )
    }

    func cancel(_ id: String, of user: User.ID) async throws {
        guard let id = UUID(uuidString: id), try await PostStore(db: database).cancel(id, of: user, now: now()) else {
            throw APIError(.notFound, "post_not_found", "there is no such waiting post")
        }
    }

    func round() async throws {
        let store = PostStore(db: database)
        while true {
            let end = now().addingTimeInterval(Self.claim)
            // The limit is low because the files of each post are read into memory.
            let (due, unreadable) = try await store.claimDue(now: now(), until: end, limit: 3)
            try await setAside.failed(unreadable, of: .scheduledPost)
            guard !due.isEmpty || !unreadable.isEmpty else { return }
            await withTaskGroup(of: Void.self) { tasks in
                for post in due { tasks.addTask { await self.post(post) } }
            }
        }
    }

    /// Publishes a due post.
    ///
    /// After a transient failure it is claimed again when this claim ends.
    private func post(_ post: PostRecord) async {
        do {
            let content = try await content(of: post)
            let plan = try await crossPoster.plan(post.draft, content, for: Caller(user: post.user))
            let results = try await crossPoster.execute(plan, content, post)
            let isTransient = results.values.contains { [409, 429, 503].contains($0.code) }
            guard isTransient, now().timeIntervalSince(post.dueAt) < Self.retryWindow else {
                try await keep(results, of: post)
                return try await PostStore(db: database).finish(post.id)
            }
        } catch let error as APIError where error.kind.status < 500 {
            logger.notice("scheduled post rejected", metadata: ["reason": "\(error.code)"])
            // The error is ignored: the post is claimed again when this claim ends.
            try? await PostStore(db: database).finish(post.id)
        } catch {
            logger.warning("scheduled post failed", metadata: ["error": "\(error)"])
            guard let failed = FailedRow([post.id.uuidString], error) else { return }
            // The error is ignored: without the record in `setAside` the post is claimed again when this claim ends.
            try? await setAside.failed([failed], of: .scheduledPost)
        }
    }

    private func content(of post: PostRecord) async throws -> PostContent {
        let media = try await MediaStore(db: database).media(of: post.id)
        return PostContent(
            text: post.draft.text ?? "",
            photo: media["photo"],
            video: media["video"],
            location: post.draft.location.map {
                ItemLocation(latitude: $0.latitude, longitude: $0.longitude, name: $0.name)
            }
        )
    }

    /// Stores the results that no publication has: of networks that accept nothing of the post, and of those that
    /// rejected it until the retries ended.
    private func keep(_ results: [String: PostResult], of post: PostRecord) async throws {
        let store = PublicationStore(db: database)
        for (name, result) in results {
            guard let network = Network(named: name) else { continue }
            let publication = try await store.begin(post.id, on: network, now: now())
            // A publication that was sent is looked up, and the lookup stores the result.
            guard publication.state == .waiting else { continue }
            _ = try await store.move(publication, from: .waiting, to: .done, result: result, now: now())
        }
    }

    func sweep() async throws {
        try await PostStore(db: database).delete(dueBefore: now().addingTimeInterval(-Self.retention))
    }

    private static func described(_ post: PostRecord, _ publications: [PublicationRecord]) -> ScheduledPost {
        let results = publications.compactMap { publication in
            publication.report.map { (post.draft.name(of: publication.network), $0) }
        }
        return ScheduledPost(
            id: post.id,
            at: post.dueAt,
            state: post.isDone ? .done : .waiting,
            text: post.draft.text,
            networks: post.draft.networks ?? [],
            results: post.isDone ? Dictionary(uniqueKeysWithValues: results) : nil
        )
    }
}
