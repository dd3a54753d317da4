import PhotosAPI
import Postgres
import ServiceHost

/// Puts what happened to posts into the words of a stream.
struct PhotoTidings: Sendable {
    let database: PostgresPool
    let links: MediaLinks

    /// What changes say to somebody who may hear of them.
    ///
    /// A post is told as he sees it by now: when it is new, where it came, and else where it changed last. One that he does
    /// not see, since it is hidden or gone, is deleted to him; of one that came and went meanwhile there is nothing to say.
    func events(of changes: [PlacedChange], for person: Person.ID) async throws -> [StreamEvent] {
        var last: [PostKey: Int64] = [:]
        var new: Set<PostKey> = []
        for change in changes {
            last[change.post] = change.mark.place
            if change.kind == .new { new.insert(change.post) }
        }
        let store = PostStore(db: database.reads, links: links)
        let posts = try await store.summaries(of: Array(last.keys), for: person)
        let seen = Dictionary(posts.map { ($0.postId, $0) }) { first, _ in first }
        return try changes.compactMap { change in
            let isNew = new.contains(change.post)
            guard isNew ? change.kind == .new : change.mark.place == last[change.post] else { return nil }
            if let post = seen[change.post.postID] { return try .post(post, isNew: isNew, change.mark) }
            return isNew ? nil : try .deleted(change.post, change.mark)
        }
    }
}

extension StreamEvent {
    /// Why a listener is to read the feed anew: he goes on from here, but something before is lost to him.
    enum ReloadReason: String, Sendable {
        /// What he asks for is not kept any more.
        case tooOld = "too_old"
        /// He follows others than before, or somebody was blocked.
        case homeChanged = "home_changed"
    }

    private struct Gone: Encodable { var postId: String }

    static func ready(_ mark: ChangeMark) -> StreamEvent { StreamEvent(id: mark.text, name: "ready", data: "{}") }

    static func reload(_ mark: ChangeMark, because reason: ReloadReason) -> StreamEvent {
        StreamEvent(id: mark.text, name: "reload", data: #"{"reason":"\#(reason.rawValue)"}"#)
    }

    fileprivate static func post(_ post: Post, isNew: Bool, _ mark: ChangeMark) throws -> StreamEvent {
        try StreamEvent(id: mark.text, name: isNew ? "new" : "changed", value: post)
    }

    fileprivate static func deleted(_ post: PostKey, _ mark: ChangeMark) throws -> StreamEvent {
        try StreamEvent(id: mark.text, name: "deleted", value: Gone(postId: post.postID))
    }
}
