import Logging
import NIOCore

extension ConversationsService {
    /// What is done about events, by the same rules as routes have.
    func socketFront(
        _ signIns: SocketSignIns,
        _ settings: ConversationsConfiguration,
        _ logger: Logger
    ) -> SocketFront {
        let ids = ConversationIDs(database: conversations.database)
        let members = Members(conversations: conversations)
        let directs = DirectMessages(conversations: conversations, files: files)
        var events = SocketEvents()
        ChatEvents(ids: ids, conversations: conversations, members: members, blocks: blocks).add(to: &events)
        MessageEvents(ids: ids, messages: messages, files: files, directs: directs).add(to: &events)
        AmendmentEvents(ids: ids, messages: messages).add(to: &events)
        PresenceEvents(ids: ids, conversations: conversations, delivery: signIns.delivery).add(to: &events)
        DeviceEvents(devices: signIns.devices).add(to: &events)
        return SocketFront(
            events: events,
            signIns: signIns,
            patience: .init(settings.authenticateTimeout),
            pace: SocketPace(perSecond: settings.socketRate),
            meters: SocketMeters(),
            logger: logger
        )
    }
}
