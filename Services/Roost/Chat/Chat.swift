import ConversationsAPI
import Foundation
import Glibc
import SocketIOClient
import Wire

/// A chat session: shows the messages of a conversation and sends the typed lines.
///
/// The connection may be lost and replaced. Each message has an id of its own and is sent until the server acknowledges
/// it, so it exists once. Missed messages are read from the history.
actor Chat {
    static let responseTimeout = Duration.seconds(10)

    let conversation: Conversation
    let account: ChatAccount
    private let endpoint: SocketIOEndpoint
    private let isTerminal = isatty(STDIN_FILENO) == 1
    /// Connections that have caught up; only the newest matters.
    private let ready = AsyncStream.makeStream(of: SocketIOConnection.self, bufferingPolicy: .bufferingNewest(1))
    private var history = ChatHistory()
    private var wakeUp: AsyncStream<Void>.Continuation?
    private var lastStatus = ""
    private var names: [String: String]

    /// Creates a session; `names` are display names by user id.
    init(
        conversation: Conversation,
        endpoint: SocketIOEndpoint,
        account: ChatAccount,
        names: [String: String]
    ) {
        self.names = names
        self.conversation = conversation
        self.endpoint = endpoint
        self.account = account
    }

    /// Runs until the input ends or the task is cancelled.
    func run() async throws {
        let label = conversation.label.isEmpty ? "a direct conversation" : conversation.label
        ChatScreen.showStatus("signed in as \(PlainText.of(account.username)) in \(PlainText.of(label))")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.receiveEvents() }
            group.addTask { try await self.sendLines() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: Receiving

    private func receiveEvents() async throws {
        let connections = SocketIOConnections(to: endpoint) { [account] failure in
            if let failure { await self.showStatus("reconnecting: \(failure)") }
            return try await account.auth(after: failure)
        }
        for try await connection in connections {
            do {
                try await serve(connection)
            } catch let error as ChatError where !error.isTokenError && !error.isRetryable {
                throw Workspace.Problem("\(error)")
            } catch let error as ChatError {
                if error.isTokenError { await account.expire() }
                showStatus("\(error)")
            } catch is SocketIOClientError {
                // The next connection follows, and its callback reports this failure.
            }
        }
    }

    private func serve(_ connection: SocketIOConnection) async throws {
        let (work, wakeUp) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakeUp = nil
        history.markBehind()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await event in connection.events { try await self.receive(event, over: connection, wakeUp) }
            }
            group.addTask {
                for await _ in work { try await self.catchUp(over: connection) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func receive(
        _ event: SocketIOEvent,
        over connection: SocketIOConnection,
        _ wakeUp: AsyncStream<Void>.Continuation
    ) async throws {
        guard let json = event.arguments.first else { return }
        switch event.name {
        case "authenticate":
            let device = try ChatResponse.decode(event.arguments, as: Device.self)
            await account.tokenAccepted()
            if device.owner.meta == nil { try await introduce(over: connection) }
            // Messages are sent only from now on, so that receivers know the sender's name.
            self.wakeUp = wakeUp
            wakeUp.yield()
        case "message", "message/updated":
            let message = try WireJSON.decoder().decode(Message.self, from: json)
            guard message.chatId == conversation.id else { return }
            show(history.receive(message))
            if history.isBehind { self.wakeUp?.yield() }
        case "typing", "presence": notice(event.name, json)
        default: break
        }
    }

    /// Publishes the username if the user's metadata is empty; other members otherwise see only the user id.
    private func introduce(over connection: SocketIOConnection) async throws {
        let meta = ["meta": ["name": account.username]]
        try await connection.emit("users/updateMeta", try JSONEncoder().encode(meta))
    }

    /// Reads the missed messages; after that, messages are sent over this connection.
    private func catchUp(over connection: SocketIOConnection) async throws {
        if !history.hasBegun { try await readLatest(over: connection) }
        while history.isBehind {
            let query = #"{"chatId":\#(conversation.id),"after":\#(history.change)}"#
            let response = try await connection.request(
                "messages/sync",
                Data(query.utf8),
                timeout: Self.responseTimeout
            )
            switch try ChatResponse.decode(response, as: Changes.self) {
            case .missed(let missed): show(history.catchUp(missed))
            case .resync: try await readLatest(over: connection)
            }
        }
        ready.continuation.yield(connection)
        if !lastStatus.isEmpty { showStatus("connected") }
        lastStatus = ""
    }

    private func readLatest(over connection: SocketIOConnection) async throws {
        struct Latest: Decodable { let messages: [Message] }
        let query = #"{"chatId":\#(conversation.id),"count":20}"#
        let response = try await connection.request("messages/list", Data(query.utf8), timeout: Self.responseTimeout)
        show(history.begin(try ChatResponse.decode(response, as: Latest.self).messages))
    }

    // MARK: Sending

    private func sendLines() async throws {
        let input = LineInput()
        var messageSender = MessageSender(conversation: conversation.id, account: account, ready: ready.stream)
        for await line in input.lines {
            switch line {
            case .tooLong: ChatScreen.showStatus("not sent: a message may have at most \(LineInput.limit) bytes")
            case .text(let text):
                do {
                    let message = try await messageSender.send(text)
                    let updates = history.acknowledge(message)
                    // The terminal already shows the typed line.
                    show(isTerminal ? updates.filter { $0 != .added(message) } : updates)
                    if history.isBehind { wakeUp?.yield() }
                } catch let error as ChatError {
                    ChatScreen.showStatus("not sent: \(error)")
                } catch is CancellationError {
                    ChatScreen.showStatus("not acknowledged: \(PlainText.of(text))")
                    return
                }
            }
            input.done()
        }
    }

    // MARK: Output

    /// Shows updates synchronously, so that the order on the screen is that of the history.
    private func show(_ updates: [ChatHistory.Update]) {
        for item in updates {
            switch item {
            case .added(let message):
                if let sender = message.senderUser { rememberName(from: sender) }
                ChatScreen.show(lines.added(message))
            case .changed(let message): ChatScreen.show(lines.changed(message))
            }
        }
    }

    private var lines: ChatFormatter {
        ChatFormatter { [names] in names[$0] ?? String($0.prefix(8)) }
    }

    /// Remembers the sender's display name; above 1,000 names, all others are removed.
    private func rememberName(from sender: Message.Sender) {
        guard sender.serial != account.userId, let name = Self.name(in: sender.meta) else { return }
        if names.count > 1_000 { names = [account.userId: account.username] }
        names[sender.serial] = String(name.prefix(64))
    }

    private static func name(in meta: JSONValue?) -> String? {
        guard case .object(let fields)? = meta, case .string(let name)? = fields["name"] else { return nil }
        return name.isEmpty ? nil : name
    }

    private func notice(_ event: String, _ json: Data) {
        struct Notice: Decodable {
            let userId: String
            let chatId: Conversation.ID?
            let status: String?
        }
        // An unreadable notice is ignored.
        guard let notice = try? WireJSON.decoder().decode(Notice.self, from: json) else { return }
        guard notice.chatId == nil || notice.chatId == conversation.id else { return }
        guard conversation.members?.contains(notice.userId) ?? true || event == "typing" else { return }
        let name = PlainText.of(lines.name(notice.userId))
        ChatScreen.showStatus(
            event == "typing" ? "\(name) is typing" : "\(name) is \(PlainText.of(notice.status ?? "online"))"
        )
    }

    /// Shows the connection status, but not the same status twice in a row.
    private func showStatus(_ line: String) {
        guard line != lastStatus else { return }
        lastStatus = line
        ChatScreen.showStatus(PlainText.of(line))
    }
}
