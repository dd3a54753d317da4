import Logging
import NIOCore

extension ConversationsService {
    /// Returns the router of socket events, whose handlers follow the same rules as the routes.
    func socketEventRouter(
        _ authenticator: SocketAuthenticator,
        _ settings: ConversationsConfiguration,
        _ logger: Logger
    ) -> SocketEventRouter {
        let lookup = ConversationLookup(database: conversations.database)
        let members = Members(conversations: conversations)
        let directMessages = DirectMessages(conversations: conversations, files: files)
        var events = SocketEvents()
        ChatEvents(lookup: lookup, conversations: conversations, members: members, blocks: blocks).add(to: &events)
        MessageEvents(lookup: lookup, messages: messages, files: files, directMessages: directMessages).add(to: &events)
        AmendmentEvents(lookup: lookup, messages: messages).add(to: &events)
        PresenceEvents(lookup: lookup, conversations: conversations, delivery: authenticator.delivery).add(to: &events)
        DeviceEvents(devices: authenticator.devices).add(to: &events)
        return SocketEventRouter(
            events: events,
            authenticator: authenticator,
            authenticateTimeout: .init(settings.authenticateTimeout),
            rateLimit: SocketRateLimit(perSecond: settings.socketRate),
            metrics: SocketMetrics(),
            logger: logger
        )
    }
}
