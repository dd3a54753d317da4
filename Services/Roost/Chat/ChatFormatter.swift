import ConversationsAPI
import Foundation
import Wire

struct ChatFormatter {
    private static let systemType = "application/diuit-chat-sys-message"

    /// Returns the display name of a user id.
    let name: (String) -> String

    func added(_ message: Message) -> String {
        guard let sender = message.senderUser else {
            return "\(time(message)) * \(message.mime == Self.systemType ? event(message) : content(message))"
        }
        return "\(time(message)) \(plain(sender.serial)): \(content(message))"
    }

    func changed(_ message: Message) -> String {
        let sender = message.senderUser.map { plain($0.serial) } ?? "a user"
        if message.deletedAt != nil { return "\(time(message)) * \(sender) deleted a message" }
        let reactions = message.reactions.sorted { $0.key < $1.key }.map { "\(PlainText.of($0.key)) \($0.value.count)" }
        let shown = reactions.isEmpty ? "" : " [\(reactions.joined(separator: ", "))]"
        return "\(time(message)) * \(sender)\(message.editedAt == nil ? "" : ", edited"): \(content(message))\(shown)"
    }

    private func plain(_ user: String) -> String { PlainText.of(name(user)) }

    private func time(_ message: Message) -> String {
        let parts = Calendar.current.dateComponents([.hour, .minute], from: message.createdAt)
        return String(format: "%02d:%02d", parts.hour ?? 0, parts.minute ?? 0)
    }

    private func content(_ message: Message) -> String {
        if message.deletedAt != nil { return "(deleted)" }
        guard message.encoding == "url" else { return PlainText.of(message.data) }
        let file = [message.file?.name, message.mime].compactMap(\.self).joined(separator: ", ")
        return "[\(PlainText.of(file))] \(PlainText.of(message.data))"
    }

    private func event(_ message: Message) -> String {
        // Text that is not JSON is shown unchanged.
        guard case .object(let fields)? = try? WireJSON.decoder().decode(JSONValue.self, from: Data(message.data.utf8)),
            case .string(let type)? = fields["type"]
        else { return content(message) }
        let member = if case .string(let user)? = fields["userId"] { plain(user) } else { "a user" }
        switch type {
        case "user.joined": return "\(member) joined"
        case "user.left": return "\(member) left"
        case "user.kicked": return "\(member) was removed"
        case "whiteList.updated": return "the white list changed"
        case "meta.updated": return "the conversation's meta changed"
        default: return content(message)
        }
    }
}
