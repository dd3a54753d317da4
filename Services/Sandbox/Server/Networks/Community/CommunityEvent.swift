/// What happens on a network, told to streams and webhooks.
enum CommunityEvent: Sendable {
    case posted(Post)
    case edited(Post)
    case deleted(Post)
    case liked(Post, by: Int)
    case messageSent(MessageThread, Message)
    case notified(Notice)
}
