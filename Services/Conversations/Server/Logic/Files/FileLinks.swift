import ConversationsAPI
import Foundation
import ServiceHost
import Wire

/// The links by which files are read: each opens one file, for a day, for whoever has it.
struct FileLinks: Sendable {
    /// How long a link lasts at least, in seconds.
    static let lifetime = 86_400
    /// Links made within so many seconds are the same, so that what a device has fetched it need not fetch again.
    private static let expiryStep = 300

    private let signer: LinkSigner
    private let base: String
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - signer: signs them.
    ///   - publicURL: where clients reach the suite, without a slash at the end.
    ///   - now: the time.
    init(signer: LinkSigner, publicURL: String, now: @escaping @Sendable () -> Date) {
        self.signer = signer
        base = "\(publicURL)/media/conversations"
        self.now = now
    }

    func link(to key: FileKey) -> String {
        let expires = (seconds / Self.expiryStep + 1) * Self.expiryStep + Self.lifetime
        let signature = signer.signature(of: Self.parts(key, expires))
        return "\(base)/\(key)?expires=\(expires)&signature=\(signature)"
    }

    /// The file that a link opens, and for how many seconds it will.
    ///
    /// - Throws: `forbidden` for one that was not made here, was changed, or is too old.
    func verify(_ key: String, expires: String?, signature: String?) throws -> (key: FileKey, lifetime: Int) {
        // Only the one spelling of a number was signed.
        guard let key = FileKey(key), let expires, let signature, let time = Int(expires), "\(time)" == expires,
            signer.isSignature(signature, of: Self.parts(key, time))
        else { throw APIError(.forbidden, "link_invalid", "this is no link of ours") }
        guard time > seconds else {
            throw APIError(.forbidden, "link_expired", "the link has expired; ask for a new one")
        }
        return (key, time - seconds)
    }

    private var seconds: Int { Int(now().timeIntervalSince1970) }

    private static func parts(_ key: FileKey, _ expires: Int) -> [String] {
        ["conversations", key.description, "\(expires)"]
    }
}

// What is read from the store has a file's key, size and name; what goes out has a link.
extension FileLinks {
    func signed(_ message: Message) -> Message {
        guard message.encoding == FileReference.encoding, let file = FileReference(stored: message.data) else {
            return message
        }
        var message = message
        message.data = link(to: FileKey(blob: file.key, conversation: message.chatId))
        message.file = Message.File(name: file.name, size: file.size)
        return message
    }

    func signed(_ messages: [Message]) -> [Message] { messages.map(signed) }

    func signed(_ changes: Changes) -> Changes {
        guard case .missed(var missed) = changes else { return changes }
        missed.messages = signed(missed.messages)
        return .missed(missed)
    }

    func signed(_ conversation: Conversation) -> Conversation {
        var conversation = conversation
        conversation.lastMessage = conversation.lastMessage.map(signed)
        return conversation
    }
}
