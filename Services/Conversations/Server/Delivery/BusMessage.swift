import ConversationsAPI
import Foundation
import Wire

/// What instances tell each other: where there is something to read, and what nobody keeps.
enum BusMessage: Sendable, Equatable {
    /// Up to this change there may be something new in a conversation.
    case changed(Conversation.ID, Int64)
    /// Somebody came into a conversation.
    case arrived
    /// An instance is there from now on, or back.
    case started
    case typing(Conversation.ID, User.ID)
    /// With some of the conversations in which it is told.
    case presence(Presence, [Conversation.ID])

    /// About what it is: of several that wait to be sent, only the newest counts.
    var key: String? {
        switch self {
        case .changed(let conversation, _): "\(conversation)"
        case .arrived: "arrived"
        case .started: "started"
        case .typing, .presence: nil
        }
    }

    /// A few characters, for what is sent with every message; JSON for the rest.
    var text: String {
        switch self {
        case .changed(let conversation, let change):
            change == Room.look ? "\(conversation)" : "\(conversation) \(change)"
        case .arrived: "arrived"
        case .started: "started"
        case .typing(let conversation, let user):
            Self.text(Spoken(application: user.application, user: user.user, typesIn: conversation.rawValue))
        case .presence(let presence, let conversations):
            Self.text(
                Spoken(
                    application: presence.user.application,
                    user: presence.user.user,
                    isOnline: presence.isOnline,
                    lastSeen: presence.lastSeen?.timeIntervalSince1970,
                    isToldIn: conversations.map(\.rawValue)
                )
            )
        }
    }

    /// Nil for what another release may say and this one does not know.
    init?(_ text: String) {
        if text == "arrived" {
            self = .arrived
        } else if text == "started" {
            self = .started
        } else if text.utf8.first == UInt8(ascii: "{") {
            guard let spoken = try? WireJSON.decode(Spoken.self, from: text.utf8, limits: .neighbour) else {
                return nil
            }
            let user = User.ID(application: spoken.application, user: spoken.user)
            if let conversation = spoken.typesIn {
                self = .typing(Conversation.ID(conversation), user)
            } else if let isOnline = spoken.isOnline {
                let lastSeen = spoken.lastSeen.map(Date.init(timeIntervalSince1970:))
                let presence = Presence(user: user, isOnline: isOnline, lastSeen: lastSeen)
                self = .presence(presence, (spoken.isToldIn ?? []).map { Conversation.ID($0) })
            } else {
                return nil
            }
        } else {
            let parts = text.split(separator: " ")
            guard let conversation = parts.first.flatMap({ Int64($0) }) else { return nil }
            let change = parts.count > 1 ? Int64(parts[1]) : Room.look
            guard let change else { return nil }
            self = .changed(Conversation.ID(conversation), change)
        }
    }

    /// Short names: a payload is small.
    private struct Spoken: Codable {
        var application: String
        var user: String
        var typesIn: Int64?
        var isOnline: Bool?
        var lastSeen: Double?
        var isToldIn: [Int64]?

        enum CodingKeys: String, CodingKey {
            case application = "a"
            case user = "u"
            case typesIn = "t"
            case isOnline = "o"
            case lastSeen = "s"
            case isToldIn = "c"
        }
    }

    private static func text(_ spoken: Spoken) -> String {
        // Strings and numbers always encode.
        (try? WireJSON.encoder().encode(spoken)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
