import ConversationsAPI
import EventBus
import Locks
import Wire

/// The notifier of committed changes: this instance is notified at once, the other instances over the bus.
///
/// It never blocks, so no response waits for it. A notification may be lost without losing an event.
final class ChangeNotifier: Sendable {
    private let connections: Connections
    private let queue: DeliveryQueue
    private let bus: any EventBus
    /// Whether other instances need notifications, and how many signals of them have arrived.
    private let others = Lock((exist: true, signals: 0))
    /// Signals joins at any instance.
    ///
    /// One task handles the signals, so that no connection is admitted twice.
    private let joinSignal: AsyncStream<Void>.Continuation
    let joins: AsyncStream<Void>

    init(connections: Connections, queue: DeliveryQueue, bus: any EventBus) {
        self.connections = connections
        self.queue = queue
        self.bus = bus
        (joins, joinSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Records that another instance exists, or may exist.
    func noteOtherInstance() {
        others.withLock { others in
            others.exist = true
            others.signals += 1
        }
    }

    /// Whether another instance or the bus itself has sent a signal, which shows that the subscription works.
    var hasReceived: Bool { others.withLock { $0.signals > 0 } }

    /// Reads from the database whether other instances exist; an instance that sends a signal meanwhile counts as
    /// existing.
    func refreshOthers<Value>(for others: () async throws -> (exist: Bool, Value)) async throws -> Value {
        let before = self.others.withLock { $0.signals }
        let (exist, value) = try await others()
        self.others.withLock { if exist || $0.signals == before { $0.exist = exist } }
        return value
    }

    var isAlone: Bool { others.withLock { !$0.exist } }

    /// Notifies about the batch that a write shard has written.
    func didWrite(_ batch: [CompletedWrite]) {
        guard connections.isListening || !isAlone else { return }
        var changes: [Conversation.ID: Int64] = [:]
        var woken: [Room] = []
        for record in batch {
            switch (record.outcome, record.write) {
            case (.written(let written), .message(let message)):
                let conversation = message.conversation.id
                changes[conversation] = max(changes[conversation] ?? 0, written.change)
                let room = connections.room(conversation)
                if let room, room.appendWritten(Room.Written(message: message, outcome: written)) { woken.append(room) }
            case (.marked(let mark), .mark(let write)):
                let conversation = write.conversation.id
                changes[conversation] = max(changes[conversation] ?? 0, mark.change)
            case (.amended, .amendment(let amendment)):
                changes[amendment.conversation.id] = Room.anyChange
            default: break
            }
        }
        queue.add(woken)
        notify(changes)
    }

    /// Notifies about any other change in a conversation, or about its deletion.
    func changed(_ conversation: Conversation.ID) { notify([conversation: Room.anyChange]) }

    /// Notifies about a new member of a conversation.
    func memberJoined(in conversation: Conversation.ID) {
        checkJoins()
        publish(.memberJoined)
        changed(conversation)
    }

    /// Starts a check for new members of conversations.
    func checkJoins() { joinSignal.yield() }

    /// Handles changes that another instance or the sweep has reported.
    func receive(_ changes: [Conversation.ID: Int64]) {
        queue.add(connections.rooms(receiving: changes).filter { $0.room.notify($0.change) }.map(\.room))
    }

    private func notify(_ changes: [Conversation.ID: Int64]) {
        guard !changes.isEmpty else { return }
        receive(changes)
        for (conversation, change) in changes { publish(.changed(conversation, change)) }
    }

    func publish(_ message: BusMessage) {
        guard !isAlone else { return }
        bus.publish(message.text, on: Delivery.topic, replacing: message.key)
    }
}
