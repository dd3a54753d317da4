import ConversationsAPI
import Foundation
import PhotosAPI
import SocialAPI
import Wire

/// The conversion of photos' posts and conversations' messages to items.
enum RoostItems {
    static func post(_ post: Post, _ page: PageRequest) -> Item {
        Item(
            id: ItemID(.roost, post.postId),
            kind: .post,
            author: ItemAuthor(
                id: post.author.userId,
                name: post.author.fullName,
                avatarUrl: post.author.profilePicture
            ),
            text: post.text,
            media: post.images.map {
                ItemMedia(
                    kind: .photo,
                    url: $0.url,
                    thumbnailUrl: $0.thumbnailUrl,
                    width: $0.width,
                    height: $0.height,
                    alt: $0.alt
                )
            },
            createdAt: post.timestamp,
            updatedAt: post.editedAt,
            stats: ItemStats(likes: post.likeCount, comments: post.commentCount),
            liked: post.isLiked,
            raw: raw(post, page)
        )
    }

    /// Returns nil for a conversation without messages, which has no time.
    static func thread(_ conversation: Conversation, of account: NetworkAccount, _ page: PageRequest) -> Item? {
        guard let last = conversation.lastMessage else { return nil }
        let lastText = last.senderUser == nil ? "" : text(of: last)
        return Item(
            id: ItemID(.roost, "conversation/\(conversation.id.rawValue)"),
            kind: .thread,
            author: last.senderUser.map { ItemAuthor(id: $0.serial, name: $0.serial) },
            text: lastText.isEmpty ? conversation.label : lastText,
            createdAt: last.createdAt,
            thread: conversation.token,
            participants: (conversation.members ?? []).filter { $0 != account.id }.map { ItemAuthor(id: $0, name: $0) },
            unread: conversation.unreadCount,
            raw: raw(conversation, page)
        )
    }

    /// Returns nil for a system message, such as a new member, and for a deleted message.
    static func message(_ message: Message, in thread: String, _ page: PageRequest) -> Item? {
        guard let sender = message.senderUser, message.deletedAt == nil else { return nil }
        return Item(
            id: ItemID(.roost, id(of: message)),
            kind: .message,
            author: ItemAuthor(id: sender.serial, name: sender.serial),
            text: text(of: message),
            media: media(of: message).map { [$0] } ?? [],
            createdAt: message.createdAt,
            updatedAt: message.editedAt,
            thread: thread,
            raw: raw(message, page)
        )
    }

    static func id(of message: Message) -> String { "message/\(message.id.rawValue)" }

    private static func text(of message: Message) -> String {
        message.encoding == "url" || message.encoding == "base64" ? "" : message.data
    }

    private static func media(of message: Message) -> ItemMedia? {
        guard message.encoding == "url" else { return nil }
        let kinds: [String: ItemMedia.Kind] = ["image": .photo, "video": .video, "audio": .audio]
        let kind = message.mime.split(separator: "/").first.flatMap { kinds[String($0)] } ?? .other
        return ItemMedia(kind: kind, url: message.data, alt: message.file?.name)
    }

    private static func raw(_ thing: some Encodable, _ page: PageRequest) -> JSONValue? {
        guard page.includesRaw else { return nil }
        // The errors are ignored: a value that a service has sent can be encoded again.
        return (try? WireJSON.encoder().encode(thing)).flatMap {
            try? WireJSON.decoder().decode(JSONValue.self, from: $0)
        }
    }
}
