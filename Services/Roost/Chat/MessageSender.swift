import ConversationsAPI
import Foundation
import SocketIOClient
import Wire

/// Sends messages one after the other, each until the server acknowledges it.
struct MessageSender {
    private struct Draft: Encodable {
        let chatId: Conversation.ID
        let data: String
        let clientMessageId: String
    }

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

    /// Sends a message.
    ///
    /// - Returns: the message as the server has stored it.
    /// - Throws: `ChatError` when the server will never accept the message, or `CancellationError`.
    mutating func send(_ text: String) async throws -> Message {
        let id = UUID().uuidString.lowercased()
        let draft = try JSONEncoder().encode(Draft(chatId: conversation, data: text, clientMessageId: id))
        while true {
            try Task.checkCancellation()
            // A request on a connection that has ended fails, and the next connection is used.
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
