import ConversationsAPI
import EventBus
import Locks
import Wire

/// Says that there is something new, once it is committed: here at once, and to the other instances over the bus.
///
/// It waits for nobody, so that no acknowledgement waits for it; it may be lost, and nothing with it.
final class ChangeNotifier: Sendable {
    private let connections: Connections
    private let queue: DeliveryQueue
    private let bus: any EventBus
    /// Whether there is another instance to be rung for; and how often one was heard of.
    private let others = Lock((exist: true, signals: 0))
    /// Somebody came into a conversation, here or elsewhere: looked for by one task, so that nobody is let in twice.
    private let joinSignal: AsyncStream<Void>.Continuation
    let joins: AsyncStream<Void>

    init(connections: Connections, queue: DeliveryQueue, bus: any EventBus) {
        self.connections = connections
        self.queue = queue
        self.bus = bus
        (joins, joinSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Another instance says that it is there, or may have said so.
    func noteOtherInstance() {
        others.withLock { others in
            others.exist = true
            others.signals += 1
        }
    }

    /// Whether another was heard of, or the bus itself: it is listened to.
    var hasReceived: Bool { others.withLock { $0.signals > 0 } }

    /// Looks in the record whether there are others; who was heard of while it was looked counts as there.
    func refreshOthers<Value>(for others: () async throws -> (exist: Bool, Value)) async throws -> Value {
        let before = self.others.withLock { $0.signals }
        let (exist, value) = try await others()
        self.others.withLock { if exist || $0.signals == before { $0.exist = exist } }
        return value
    }

    var isAlone: Bool { others.withLock { !$0.exist } }

    /// What a lane has written.
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

    /// Something else changed in a conversation, or it is gone.
    func changed(_ conversation: Conversation.ID) { notify([conversation: Room.anyChange]) }

    /// Somebody came into a conversation.
    func memberJoined(in conversation: Conversation.ID) {
        checkJoins()
        publish(.memberJoined)
        changed(conversation)
    }

    /// Somebody may have come into a conversation.
    func checkJoins() { joinSignal.yield() }

    /// Another instance rang, or the sweep found something.
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
