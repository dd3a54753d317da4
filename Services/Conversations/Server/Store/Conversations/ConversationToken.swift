import ConversationsAPI
import Wire

/// A parsed conversation token: 22 random characters (132 bits, of which 128 are random), then the conversation's id.
///
/// The token is found by the primary key, and it determines the shard of its conversation.
struct ConversationToken: Hashable, Sendable, CustomStringConvertible {
    static let secretLength = 22

    let id: Conversation.ID
    let secret: String

    init(id: Conversation.ID, secret: String) {
        self.id = id
        self.secret = secret
    }

    /// Nil for text that cannot be a token.
    init?(_ text: String) {
        guard text.utf8.count == text.unicodeScalars.count, text.utf8.count > Self.secretLength else { return nil }
        let number = text.dropFirst(Self.secretLength)
        guard number.utf8.first != UInt8(ascii: "0"), number.utf8.allSatisfy({ (48...57).contains($0) }),
            let id = Int64(number)
        else { return nil }
        self.init(id: Conversation.ID(id), secret: String(text.prefix(Self.secretLength)))
    }

    static func newSecret() -> String { Base64URL.random(bytes: 16) }

    var description: String { "\(secret)\(id)" }
}
