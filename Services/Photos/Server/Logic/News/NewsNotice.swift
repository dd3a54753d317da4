import PushAPI
import Wire

/// What a round of news says on a telephone.
struct NewsNotice: Sendable {
    /// So much of a comment is told.
    private static let characters = 500

    let facts: NewsFacts
    let links: MediaLinks

    /// The id of a round's notification; without a round, what the ids of all rounds begin with.
    static func id(_ kind: PhotoNews.Kind, of post: PostKey, round: Int64?) -> String {
        "photos:\(kind.rawValue):\(post.postID)" + (round.map { ":\($0)" } ?? "")
    }

    /// Nil for a kind that another release writes and this one does not know.
    var request: NotificationRequest? {
        guard let kind = PhotoNews.Kind(rawValue: facts.round.kind) else { return nil }
        let key = PostKey(author: facts.round.recipient, number: facts.round.number)
        let post = key.postID
        let about = kind == .follow ? "follow" : "\(kind.rawValue):\(post)"
        var data: [String: JSONValue] = [
            "type": .string(kind.rawValue), "userId": .string(facts.users.first ?? ""),
            "names": .array(facts.names.map { .string($0) }), "count": .integer(Int64(count(kind))),
        ]
        if kind != .follow { data["postId"] = .string(post) }
        let (title, body) = words(kind)
        return NotificationRequest(
            id: Self.id(kind, of: key, round: facts.round.round),
            applicationId: facts.recipient.application,
            kind: kind.notification,
            recipients: [NotificationRequest.Recipient(userId: facts.recipient.user)],
            title: title,
            body: body,
            data: .object(data),
            image: facts.thumbnail.map(links.url).flatMap { $0.hasPrefix("https:") ? $0 : nil },
            collapseKey: about,
            about: about,
            mentions: facts.users
        )
    }

    private func words(_ kind: PhotoNews.Kind) -> (title: String?, body: String) {
        switch kind {
        case .like: (nil, "\(who(kind)) liked your photo")
        case .follow: ("You have a new follower", "\(who(kind)) \(facts.count > 1 ? "are" : "is") now following you")
        case .comment:
            if facts.count == 1, let comment = facts.comment {
                ("\(who(kind)) commented on your photo", Self.beginning(of: comment))
            } else {
                (nil, "\(who(kind)) commented on your photo")
            }
        }
    }

    /// "Ana", "Ana and Bo", "Ana and 4 others".
    private func who(_ kind: PhotoNews.Kind) -> String {
        let names = facts.names.map { $0.isEmpty ? "Somebody" : $0 }
        let count = count(kind)
        guard let first = names.first, count > 1 else { return names.first ?? "Somebody" }
        return count == 2 && names.count > 1 ? "\(first) and \(names[1])" : "\(first) and \(others(count - 1))"
    }

    private func others(_ count: Int) -> String { count == 1 ? "1 other" : "\(count) others" }

    /// Of likes all there are, since what is told takes the place of what was told before.
    private func count(_ kind: PhotoNews.Kind) -> Int { kind == .like ? max(facts.count, facts.likes) : facts.count }

    private static func beginning(of text: String) -> String {
        let scalars = text.unicodeScalars
        return scalars.count <= characters ? text : String(scalars.prefix(characters)) + "…"
    }
}

extension PhotoNews.Kind {
    fileprivate var notification: NotificationKind {
        switch self {
        case .like: .like
        case .comment: .comment
        case .follow: .follow
        }
    }
}
