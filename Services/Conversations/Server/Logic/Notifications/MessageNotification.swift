import ConversationsAPI
import PushAPI
import Wire

/// What is said of a message to those who are away (seed diuit, "Sending Messages with Push Notification").
///
/// Every text is told; anything else where its sender says what is to be told. Who said it and where stands in the title,
/// but on Android the title that the sender chose, if any: a `pushTitle` is for Android only.
struct MessageNotification: Sendable {
    /// What Apple reads itself: no sender's to choose.
    static let reservedKey = "aps"

    let message: NotableMessage
    private let conversation: NotableConversation
    private let title: String?
    private let androidTitle: String?
    private let body: String
    private let badge: NotificationBadge
    private let data: [String: JSONValue]

    /// Nil for what nobody is told of.
    init?(_ message: NotableMessage, in conversation: NotableConversation, by name: String?) {
        let pushOptions = Self.pushOptions(message.push)
        let chosen = pushOptions["message"].flatMap(Self.text)
        guard let body = chosen ?? message.text, !body.isEmpty else { return nil }
        let place = conversation.isDirect || conversation.label.isEmpty ? nil : conversation.label
        self.message = message
        self.conversation = conversation
        title = place ?? name ?? Self.text(.string(conversation.label))
        androidTitle = pushOptions["title"].flatMap(Self.text)
        // In a group, who says it is part of what is said.
        self.body = chosen == nil && place != nil ? name.map { "\($0): \(body)" } ?? body : body
        if case .integer(let number) = pushOptions["badge"] { badge = .number(number) } else { badge = .increment }
        data = Self.data(pushOptions["payload"], message, conversation)
    }

    /// One request for so many of the members: those who want to know, and not who said it.
    ///
    /// Nil where nobody is left. A device with an open socket of its own hears of it there.
    ///
    /// - Parameters:
    ///   - members: the members of the page.
    ///   - logsMuted: whether push writes members who turned notifications off into its log.
    /// - Returns: the request, with its recipients and the muted members.
    func request(to members: NotablePage, logsMuted: Bool = false) -> NotificationRequest? {
        let others = members.all.filter { member in
            !member.user.isExactly(message.sender) && !members.areBlocked(message.sender, member.user)
        }
        let recipients = others.filter(\.isNotified)
        let muted = logsMuted ? others.filter { !$0.isNotified } : []
        guard !recipients.isEmpty || !muted.isEmpty else { return nil }
        return NotificationRequest(
            id: "message:\(conversation.id):\(message.seq)\(members.mark.map { ":\($0)" } ?? "")",
            applicationId: conversation.application,
            kind: .message,
            recipients: recipients.map { member in
                NotificationRequest.Recipient(
                    userId: member.user,
                    exceptDeviceIds: member.connectedDevices.isEmpty ? nil : member.connectedDevices
                )
            },
            title: title,
            androidTitle: androidTitle,
            body: body,
            data: .object(data),
            badge: badge,
            about: conversation.token.description,
            mentions: [message.sender],
            withheld: muted.isEmpty
                ? nil : [.init(reason: NotificationRequest.Withheld.conversationMuted, userIds: muted.map(\.user))]
        )
    }

    /// About how many bytes a request of this takes.
    func size(_ request: NotificationRequest) -> Int {
        let said = body.utf8.count + (title?.utf8.count ?? 0) + (message.push?.utf8.count ?? 0)
        return 512 + said
            + request.recipients.reduce(0) { sum, recipient in
                sum + 64 + recipient.userId.utf8.count
                    + (recipient.exceptDeviceIds ?? []).reduce(0) { $0 + 4 + $1.utf8.count }
            }
            + (request.withheld ?? []).reduce(0) { sum, withheld in
                sum + 64 + withheld.userIds.reduce(0) { $0 + 4 + $1.utf8.count }
            }
    }

    /// What an app needs to open the message: ours, over whatever the sender put there.
    private static func data(
        _ payload: JSONValue?,
        _ message: NotableMessage,
        _ conversation: NotableConversation
    ) -> [String: JSONValue] {
        var data: [String: JSONValue] = [:]
        if case .object(let fields) = payload { data = fields }
        data[reservedKey] = nil
        return data.merging([
            "type": .string("message"), "conversation": .string(conversation.token.description),
            "chatId": .integer(conversation.id.rawValue), "seq": .integer(message.seq),
            "messageId": .integer(Message.ID(conversation.id, seq: message.seq).rawValue),
            "senderId": .string(message.sender),
        ]) { $1 }
    }

    private static func pushOptions(_ push: String?) -> [String: JSONValue] {
        guard let push, case .object(let fields) = JSONValue(compact: push) else { return [:] }
        return fields
    }

    private static func text(_ value: JSONValue) -> String? {
        if case .string(let text) = value, !text.isEmpty { text } else { nil }
    }
}

/// Members of a conversation, all of them or one part of many.
struct NotablePage: Sendable {
    let all: [NotableMember]
    /// Which part it is, in the numbers of its first and last member; nil where it is everybody.
    ///
    /// Where somebody comes or goes while it is tried again it is another part, and told to all of it once more: better than
    /// to nobody.
    let mark: String?
    private let blockedPairs: Set<BlockedPair>

    /// A sender and a member.
    private struct BlockedPair: Hashable {
        let sender: [UInt8]
        let user: [UInt8]
    }

    init(_ members: [NotableMember], isAll: Bool, blockedPairs: [BlockedMemberPair]) {
        all = members
        if let first = members.first, let last = members.last, !isAll {
            mark = "\(first.number)-\(last.number)"
        } else {
            mark = nil
        }
        self.blockedPairs = Set(
            blockedPairs.map { BlockedPair(sender: Array($0.sender.utf8), user: Array($0.user.utf8)) }
        )
    }

    func areBlocked(_ sender: String, _ user: String) -> Bool {
        !blockedPairs.isEmpty && blockedPairs.contains(BlockedPair(sender: Array(sender.utf8), user: Array(user.utf8)))
    }
}
