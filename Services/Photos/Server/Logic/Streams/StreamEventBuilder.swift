import PhotosAPI
import Postgres
import ServiceHost

struct StreamEventBuilder: Sendable {
    let database: PostgresPool
    let links: MediaLinks

    /// Returns the events of changes for a user.
    ///
    /// A post is sent as the user sees it now: a new post at its first change, any other post at its last. A hidden or
    /// deleted post is sent as `deleted`. A post that was created and deleted between two reads is not sent.
    func events(of changes: [NumberedChange], for person: Person.ID) async throws -> [StreamEvent] {
        var last: [PostKey: Int64] = [:]
        var new: Set<PostKey> = []
        for change in changes {
            last[change.post] = change.eventID.changeNumber
            if change.kind == .new { new.insert(change.post) }
        }
        let store = PostStore(db: database.reads, links: links)
        let posts = try await store.summaries(of: Array(last.keys), for: person)
        let seen = Dictionary(posts.map { ($0.postId, $0) }) { first, _ in first }
        return try changes.compactMap { change in
            let isNew = new.contains(change.post)
            guard isNew ? change.kind == .new : change.eventID.changeNumber == last[change.post] else { return nil }
            if let post = seen[change.post.postID] { return try .post(post, isNew: isNew, change.eventID) }
            return isNew ? nil : try .deleted(change.post, change.eventID)
        }
    }
}

extension StreamEventBuilder {
    func isVisible(_ post: PostKey, to person: Person.ID) async throws -> Bool {
        try await PostStore(db: database.reads, links: links).isVisible(post, to: .person(person))
    }

    /// Returns the events of a post's changes for a user; nil if the user no longer sees the post.
    ///
    /// A comment is sent as it is now: a new comment where it was created, any other where it was last edited. A
    /// comment that was created and deleted between two reads is not sent.
    func events(of changes: [NumberedChange], on post: PostKey, for person: Person.ID) async throws -> [StreamEvent]? {
        let store = PostStore(db: database.reads, links: links)
        guard let counts = try await store.counts(of: post, for: .person(person)) else { return nil }
        guard let eventID = changes.last?.eventID else { return [] }
        // An instance of the previous release does not store the comment's number.
        guard !changes.contains(where: { $0.comment == nil && $0.kind?.isOfComment ?? false }) else {
            return [.reload(eventID, because: .tooOld)]
        }
        var last: [CommentKey: NumberedChange] = [:]
        var created: Set<CommentKey> = []
        for change in changes {
            guard let key = change.commentKey else { continue }
            last[key] = change
            if change.kind == .commentCreated { created.insert(key) }
        }
        let comments = try await CommentStore(db: database.reads, links: links)
            .comments(Array(last.keys), for: .person(person))
        var events = try changes.compactMap { change -> StreamEvent? in
            guard let key = change.commentKey else { return nil }
            let isNew = created.contains(key)
            guard isNew ? change.kind == .commentCreated : change == last[key] else { return nil }
            if let comment = comments[key] { return try .comment(comment, isNew: isNew, change.eventID) }
            // A comment of a blocked user exists, but this user does not see it.
            return !isNew && change.kind == .commentDeleted ? try .deleted(key, change.eventID) : nil
        }
        if changes.contains(where: { $0.kind != .commentEdited }) { events.append(try .counts(counts, eventID)) }
        return events
    }
}

extension StreamEvent {
    /// Why a client must read the feed again: the stream continues, but earlier events are lost.
    enum ReloadReason: String, Sendable {
        /// The requested position is no longer stored.
        case tooOld = "too_old"
        /// The user follows other users than before, or a block was added or removed.
        case homeChanged = "home_changed"
    }

    private struct DeletedPost: Encodable { var postId: String }
    private struct DeletedComment: Encodable { var commentId: String }

    static func ready(_ eventID: StreamEventID) -> StreamEvent {
        StreamEvent(id: eventID.text, name: "ready", data: "{}")
    }

    static func reload(_ eventID: StreamEventID, because reason: ReloadReason) -> StreamEvent {
        StreamEvent(id: eventID.text, name: "reload", data: #"{"reason":"\#(reason.rawValue)"}"#)
    }

    fileprivate static func post(_ post: Post, isNew: Bool, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: isNew ? "new" : "changed", value: post)
    }

    /// The last event of a post's comment stream: the user no longer sees the post.
    static func gone(_ post: PostKey, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: "gone", value: DeletedPost(postId: post.postID))
    }

    fileprivate static func comment(_ comment: Comment, isNew: Bool, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: isNew ? "created" : "edited", value: comment)
    }

    fileprivate static func deleted(_ comment: CommentKey, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: "deleted", value: DeletedComment(commentId: "\(comment.number)"))
    }

    fileprivate static func counts(_ counts: PostCounts, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: "counts", value: counts)
    }

    fileprivate static func deleted(_ post: PostKey, _ eventID: StreamEventID) throws -> StreamEvent {
        try StreamEvent(id: eventID.text, name: "deleted", value: DeletedPost(postId: post.postID))
    }
}
