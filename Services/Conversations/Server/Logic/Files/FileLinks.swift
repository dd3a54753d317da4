import ConversationsAPI
import Foundation
import ServiceHost
import Wire

/// The links to files: each opens one file for a day, for every client that has the link.
struct FileLinks: Sendable {
    /// The minimum lifetime of a link, in seconds.
    static let lifetime = 86_400
    /// Links made within this many seconds are equal, so that a device can use the file in its cache.
    private static let expiryStep = 300

    private let signer: LinkSigner
    private let base: String
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - signer: signs the links.
    ///   - publicURL: the public address of the suite, without a trailing slash.
    ///   - now: returns the current time.
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

    /// Returns the file that a link opens, and the number of seconds for which the link remains valid.
    ///
    /// - Throws: `forbidden` for a link that was not signed here, was changed, or has expired.
    func verify(_ key: String, expires: String?, signature: String?) throws -> (key: FileKey, lifetime: Int) {
        // Only the canonical spelling of the number was signed.
        guard let key = FileKey(key), let expires, let signature, let time = Int(expires), "\(time)" == expires,
            signer.isSignature(signature, of: Self.parts(key, time))
        else { throw APIError(.forbidden, "link_invalid", "the signature of the link is invalid") }
        guard time > seconds else {
            throw APIError(.forbidden, "link_expired", "the link has expired; request a new one")
        }
        return (key, time - seconds)
    }

    private var seconds: Int { Int(now().timeIntervalSince1970) }

    private static func parts(_ key: FileKey, _ expires: Int) -> [String] {
        ["conversations", key.description, "\(expires)"]
    }
}

// The store has a file's key, size and name; clients receive a link.
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
