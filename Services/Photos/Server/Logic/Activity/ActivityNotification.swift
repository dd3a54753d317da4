import PushAPI
import Wire

struct ActivityNotification: Sendable {
    /// Longer comments are cut to this many characters.
    private static let characters = 500

    let content: ActivityContent
    let links: MediaLinks

    /// Returns the notification id of a round; without a round, the common prefix of the ids of all rounds.
    static func id(_ kind: PhotoActivity.Kind, of post: PostKey, round: Int64?) -> String {
        "photos:\(kind.rawValue):\(post.postID)" + (round.map { ":\($0)" } ?? "")
    }

    /// Nil if the kind is unknown to this release.
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

    /// Returns the beginning of a single comment, which is shown below the summary.
    private func text(_ kind: PhotoActivity.Kind) -> String? {
        kind == .comment && content.count == 1 ? content.comment.map { Self.beginning(of: $0) } : nil
    }

    private func titleMessage(_ kind: PhotoActivity.Kind) -> NotificationText? {
        if kind == .follow { return NotificationText("follow.title") }
        return text(kind) == nil ? nil : summary(kind)
    }

    /// Returns the summary: "Ana …", "Ana and Bo …", "Ana and 4 others …".
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

    /// Returns the count to show.
    ///
    /// For likes this is the total, because the notification replaces the previous one.
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
