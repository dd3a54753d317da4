import ConversationsAPI
import Foundation
import SocketIOClient
import Wire

/// Says one thing after the other, each until the server has it.
struct MessageSender {
    private struct Draft: Encodable {
        let chatId: Conversation.ID
        let data: String
        let clientMessageId: String
    }

    /// How long to wait when the server asks for it.
    private static let pause = Duration.seconds(1)

    private let conversation: Conversation.ID
    private let account: ChatAccount
    private var ready: AsyncStream<SocketIOConnection>.Iterator
    private var connection: SocketIOConnection?

    init(conversation: Conversation.ID, account: ChatAccount, ready: AsyncStream<SocketIOConnection>) {
        self.conversation = conversation
        self.account = account
        self.ready = ready.makeAsyncIterator()
    }

    /// - Returns: the message as everybody has it.
    /// - Throws: `ChatError` for what will never be taken, `CancellationError`.
    mutating func send(_ text: String) async throws -> Message {
        let id = UUID().uuidString.lowercased()
        let draft = try JSONEncoder().encode(Draft(chatId: conversation, data: text, clientMessageId: id))
        while true {
            try Task.checkCancellation()
            // Whoever comes after a connection that is over finds it over, and takes the next.
            if connection == nil { connection = await ready.next() }
            guard let connection else { throw CancellationError() }
            do {
                return try ChatResponse.decode(
                    try await connection.request("messages/create", draft, timeout: Chat.responseTimeout)
                )
            } catch SocketIOClientError.messageTooLarge {
                throw ChatError(code: 497, message: "the message is too large")
            } catch is SocketIOClientError {
                await connection.close()
                self.connection = nil
            } catch let error as ChatError where error.isRetryable {
                try await Task.sleep(for: Self.pause)
            } catch let error as ChatError where error.code == 498 {
                await account.expire()
                await connection.close()
                self.connection = nil
            }
        }
    }
}
