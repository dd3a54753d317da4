import ConversationsAPI
import Wire

/// The content of a system message (seed diuit, "System Messages").
enum SystemEvent {
    case joined(String)
    case left(String)
    case kicked(String)
    case whiteListUpdated([String]?)
    case metaUpdated(JSONValue)

    static let mime = "application/diuit-chat-sys-message"
    static let encoding = "json"

    /// Returns compact JSON: `{type, …}`.
    func data() throws -> String {
        let fields: [String: JSONValue] =
            switch self {
            case .joined(let user): ["type": .string("user.joined"), "userId": .string(user)]
            case .left(let user): ["type": .string("user.left"), "userId": .string(user)]
            case .kicked(let user): ["type": .string("user.kicked"), "userId": .string(user)]
            case .whiteListUpdated(let users):
                [
                    "type": .string("whiteList.updated"),
                    "whiteList": users.map { .array($0.map(JSONValue.string)) } ?? .null,
                ]
            case .metaUpdated(let meta): ["type": .string("meta.updated"), "meta": meta]
            }
        return String(decoding: try JSONValue.object(fields).compact(), as: UTF8.self)
    }
}

extension SystemEvent {
    /// The change of membership that a system message reports.
    enum Membership: Equatable, Sendable {
        case joined(String)
        case left(String)

        /// Nil for any other message.
        init?(_ message: Message) {
            guard message.senderUser == nil, message.mime == SystemEvent.mime,
                case .object(let fields) = JSONValue(compact: message.data),
                case .string(let type) = fields["type"], case .string(let user) = fields["userId"]
            else { return nil }
            switch type {
            case "user.joined": self = .joined(user)
            case "user.left", "user.kicked": self = .left(user)
            default: return nil
            }
        }
    }
}
