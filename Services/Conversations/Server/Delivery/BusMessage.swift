import ConversationsAPI
import Foundation
import Wire

/// What instances tell each other: where there is something to read, and what nobody keeps.
enum BusMessage: Sendable, Equatable {
    /// Up to this change there may be something new in a conversation.
    case changed(Conversation.ID, Int64)
    /// Somebody came into a conversation.
    case memberJoined
    /// An instance is there from now on, or back.
    case started
    case typing(Conversation.ID, User.ID)
    /// With some of the conversations in which it is told.
    case presence(Presence, [Conversation.ID])

    /// About what it is: of several that wait to be sent, only the newest counts.
    var key: String? {
        switch self {
        case .changed(let conversation, _): "\(conversation)"
        case .memberJoined: "memberJoined"
        case .started: "started"
        case .typing, .presence: nil
        }
    }

    /// A few characters, for what is sent with every message; JSON for the rest.
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

    /// Nil for what another release may say and this one does not know.
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

    /// Short names: a payload is small.
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
