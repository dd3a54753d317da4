import ConversationsAPI
import Foundation
import Wire

/// The messages between instances: change notifications, and events that are not stored.
enum BusMessage: Sendable, Equatable {
    /// A conversation may have changes up to this number.
    case changed(Conversation.ID, Int64)
    /// A user joined a conversation.
    case memberJoined
    /// An instance has started, or has reconnected.
    case started
    case typing(Conversation.ID, User.ID)
    /// With some of the conversations in which the presence is announced.
    case presence(Presence, [Conversation.ID])

    /// The subject of the message: of several queued messages with one key, only the newest is sent.
    var key: String? {
        switch self {
        case .changed(let conversation, _): "\(conversation)"
        case .memberJoined: "memberJoined"
        case .started: "started"
        case .typing, .presence: nil
        }
    }

    /// A few characters for a notification that follows every message; JSON for the others.
    var text: String {
        switch self {
        case .changed(let conversation, let change):
            change == Room.anyChange ? "\(conversation)" : "\(conversation) \(change)"
        case .memberJoined: "memberJoined"
        case .started: "started"
        case .typing(let conversation, let user):
            Self.text(Payload(application: user.application, user: user.user, typingIn: conversation.rawValue))
        case .presence(let presence, let conversations):
            Self.text(
                Payload(
                    application: presence.user.application,
                    user: presence.user.user,
                    isOnline: presence.isOnline,
                    lastSeen: presence.lastSeen?.timeIntervalSince1970,
                    announcedIn: conversations.map(\.rawValue)
                )
            )
        }
    }

    /// Nil for a message of another release that this one does not know.
    init?(_ text: String) {
        if text == "memberJoined" {
            self = .memberJoined
        } else if text == "started" {
            self = .started
        } else if text.utf8.first == UInt8(ascii: "{") {
            guard let payload = try? WireJSON.decode(Payload.self, from: text.utf8, limits: .internalBody) else {
                return nil
            }
            let user = User.ID(application: payload.application, user: payload.user)
            if let conversation = payload.typingIn {
                self = .typing(Conversation.ID(conversation), user)
            } else if let isOnline = payload.isOnline {
                let lastSeen = payload.lastSeen.map(Date.init(timeIntervalSince1970:))
                let presence = Presence(user: user, isOnline: isOnline, lastSeen: lastSeen)
                self = .presence(presence, (payload.announcedIn ?? []).map { Conversation.ID($0) })
            } else {
                return nil
            }
        } else {
            let parts = text.split(separator: " ")
            guard let conversation = parts.first.flatMap({ Int64($0) }) else { return nil }
            let change = parts.count > 1 ? Int64(parts[1]) : Room.anyChange
            guard let change else { return nil }
            self = .changed(Conversation.ID(conversation), change)
        }
    }

    /// The keys are short, because a message on the bus must be small.
    private struct Payload: Codable {
        var application: String
        var user: String
        var typingIn: Int64?
        var isOnline: Bool?
        var lastSeen: Double?
        var announcedIn: [Int64]?

        enum CodingKeys: String, CodingKey {
            case application = "a"
            case user = "u"
            case typingIn = "t"
            case isOnline = "o"
            case lastSeen = "s"
            case announcedIn = "c"
        }
    }

    private static func text(_ payload: Payload) -> String {
        // Strings and numbers always encode.
        (try? WireJSON.encoder().encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
