import ConversationsAPI
import PushAPI
import Wire

/// The notification of members without a connection about a message (seed diuit, "Sending Messages with Push
/// Notification").
///
/// Every text message causes a notification; another message does so only when its sender chose a notification text.
/// The title names the group or the sender. On Android, the sender's `pushTitle` replaces it, because a `pushTitle` is
/// for Android only.
struct MessageNotification: Sendable {
    /// The key that Apple interprets, which a sender cannot set.
    static let reservedKey = "aps"

    let message: NotableMessage
    private let conversation: NotableConversation
    private let title: String?
    private let androidTitle: String?
    private let body: String
    private let badge: NotificationBadge
    private let data: [String: JSONValue]

    /// Nil for a message without a notification.
    init?(_ message: NotableMessage, in conversation: NotableConversation, by name: String?) {
        let pushOptions = Self.pushOptions(message.push)
        let chosen = pushOptions["message"].flatMap(Self.text)
        guard let body = chosen ?? message.text, !body.isEmpty else { return nil }
        let group = conversation.isDirect || conversation.label.isEmpty ? nil : conversation.label
        self.message = message
        self.conversation = conversation
        title = group ?? name ?? Self.text(.string(conversation.label))
        androidTitle = pushOptions["title"].flatMap(Self.text)
        // In a group, the body starts with the sender's name.
        self.body = chosen == nil && group != nil ? name.map { "\($0): \(body)" } ?? body : body
        if case .integer(let number) = pushOptions["badge"] { badge = .number(number) } else { badge = .increment }
        data = Self.data(pushOptions["payload"], message, conversation)
    }

    /// Returns one request for a page of members, without the sender and without members who turned notifications off.
    ///
    /// Returns nil when the page has neither a recipient nor a muted member to log. A device with an open socket is excluded, because it receives the
    /// message there.
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

    /// Returns the approximate size of a request, in bytes.
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

    /// Returns the fields that an app needs to open the message; they override the sender's payload.
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

/// A page of a conversation's members.
struct NotablePage: Sendable {
    let all: [NotableMember]
    /// The numbers of the page's first and last member; nil when the page has all members.
    ///
    /// When a member joins or leaves before a retry, the page has another mark, and push notifies all its members
    /// again. A second notification is better than none.
    let mark: String?
    private let blockedPairs: Set<BlockedPair>

    /// A sender and a member that a block separates.
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
