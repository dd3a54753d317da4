import PushAPI
import Wire

/// What a round of news says on a telephone.
struct ActivityNotification: Sendable {
    /// So much of a comment is told.
    private static let characters = 500

    let content: ActivityContent
    let links: MediaLinks

    /// The id of a round's notification; without a round, what the ids of all rounds begin with.
    static func id(_ kind: PhotoActivity.Kind, of post: PostKey, round: Int64?) -> String {
        "photos:\(kind.rawValue):\(post.postID)" + (round.map { ":\($0)" } ?? "")
    }

    /// Nil for a kind that another release writes and this one does not know.
    var request: NotificationRequest? {
        guard let kind = PhotoActivity.Kind(rawValue: content.round.kind) else { return nil }
        let key = PostKey(author: content.round.recipient, number: content.round.number)
        let post = key.postID
        let about = kind == .follow ? "follow" : "\(kind.rawValue):\(post)"
        var data: [String: JSONValue] = [
            "type": .string(kind.rawValue), "userId": .string(content.users.first ?? ""),
            "names": .array(content.names.map { .string($0) }), "count": .integer(Int64(count(kind))),
        ]
        if kind != .follow { data["postId"] = .string(post) }
        return NotificationRequest(
            id: Self.id(kind, of: key, round: content.round.round),
            applicationId: content.recipient.application,
            kind: kind.notification,
            recipients: [NotificationRequest.Recipient(userId: content.recipient.user)],
            body: text(kind),
            data: .object(data),
            image: content.thumbnail.map(links.url).flatMap { $0.hasPrefix("https:") ? $0 : nil },
            collapseKey: about,
            about: about,
            mentions: content.users,
            titleMessage: titleMessage(kind),
            bodyMessage: text(kind) == nil ? summary(kind) : nil
        )
    }

    /// The beginning of a single comment, which is shown below what happened.
    private func text(_ kind: PhotoActivity.Kind) -> String? {
        kind == .comment && content.count == 1 ? content.comment.map { Self.beginning(of: $0) } : nil
    }

    private func titleMessage(_ kind: PhotoActivity.Kind) -> NotificationText? {
        if kind == .follow { return NotificationText("follow.title") }
        return text(kind) == nil ? nil : summary(kind)
    }

    /// What happened: "Ana …", "Ana and Bo …", "Ana and 4 others …".
    private func summary(_ kind: PhotoActivity.Kind) -> NotificationText {
        let names: [NotificationText.Argument] = content.names.map { $0.isEmpty ? Self.unknown : .text($0) }
        let count = count(kind)
        let first = names.first ?? Self.unknown
        if count <= 1 { return NotificationText("\(kind.rawValue).one", ["name": first]) }
        if count == 2, names.count > 1 {
            return NotificationText("\(kind.rawValue).two", ["name": first, "other": names[1]])
        }
        return NotificationText("\(kind.rawValue).others", ["name": first, "count": .number(Int64(count - 1))])
    }

    private static let unknown = NotificationText.Argument.message("person.unknown")

    /// Of likes all there are, since what is told takes the place of what was told before.
    private func count(_ kind: PhotoActivity.Kind) -> Int {
        kind == .like ? max(content.count, content.likes) : content.count
    }

    private static func beginning(of text: String) -> String {
        let scalars = text.unicodeScalars
        return scalars.count <= characters ? text : String(scalars.prefix(characters)) + "…"
    }
}

extension PhotoActivity.Kind {
    fileprivate var notification: NotificationKind {
        switch self {
        case .like: .like
        case .comment: .comment
        case .follow: .follow
        }
    }
}
