/// An event on a network, which streams and webhooks send.
enum CommunityEvent: Sendable {
    case posted(Post)
    case edited(Post)
    case deleted(Post)
    case liked(Post, by: Int)
    case messageSent(MessageThread, Message)
    case notified(Notice)
}
