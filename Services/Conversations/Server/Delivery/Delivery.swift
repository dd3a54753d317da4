import ConversationsAPI
import EventBus
import Locks
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// The delivery of events to this instance's sockets: each event once, in order, without gaps.
///
/// PostgreSQL has all changes. A notification on the bus names a conversation to read; an instance need not read what
/// it wrote itself. A notification may be lost, so the instance checks for changes each second.
final class Delivery: Service {
    static let topic = "changes"

    let database: PostgresPool
    let bus: any EventBus
    let rooms: any DeliveryRooms
    let connections: Connections
    let queue: DeliveryQueue
    let changeNotifier: ChangeNotifier
    let devices: ConnectedDevices
    let presences: Presences
    let sync: Sync
    let announcer: ChatAnnouncer
    let logger: Logger
    let hasEnded: @Sendable (_ session: String) -> Bool
    let typing = Throttle<Typing>(pause: .seconds(3))
    let joins = RecentJoins()
    let sweepStart = Lock(0)
    let lateRooms = Counter(label: "roost_conversations_late_rooms_total")
    let missed = Counter(label: "roost_conversations_missed_notifications_total")

    /// - Parameters:
    ///   - database: stores the conversations.
    ///   - bus: carries notifications between the instances of this service.
    ///   - rooms: the sockets.
    ///   - links: signs the links of delivered files.
    ///   - profiles: provides the names of members of new conversations; nil leaves them out.
    ///   - setAside: records messages that cannot be read.
    ///   - logger: receives failures.
    ///   - hasEnded: returns whether a session has ended; it returns true before `end(session:)` is called.
    ///   - instance: the unique name of this instance in the table of instances.
    init(
        database: PostgresPool,
        bus: any EventBus,
        rooms: any DeliveryRooms,
        links: FileLinks,
        profiles: MemberProfiles? = nil,
        setAside: SetAside,
        logger: Logger,
        hasEnded: @escaping @Sendable (_ session: String) -> Bool,
        instance: String = Base64URL.random(bytes: 9)
    ) {
        self.database = database
        self.bus = bus
        self.rooms = rooms
        self.logger = logger
        self.hasEnded = hasEnded
        let connections = Connections()
        self.connections = connections
        let announcer = ChatAnnouncer(database: database, links: links, profiles: profiles, logger: logger)
        self.announcer = announcer
        queue = DeliveryQueue(
            store: RoomBacklogStore(database: database),
            encoder: RoomEventEncoder(links: links, logger: logger),
            announcer: announcer,
            rooms: rooms,
            connections: connections,
            setAside: setAside,
            logger: logger
        )
        changeNotifier = ChangeNotifier(connections: connections, queue: queue, bus: bus)
        presences = Presences(
            database: database,
            connections: connections,
            changeNotifier: changeNotifier,
            logger: logger
        )
        devices = ConnectedDevices(
            instance: instance,
            database: database,
            connections: connections,
            changeNotifier: changeNotifier,
            presences: presences,
            logger: logger
        )
        sync = Sync(database: database, links: links)
    }

    /// Handles messages of the bus until the service shuts down; `backgroundServices` has the other tasks.
    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            for await event in bus.subscribe(to: [Self.topic]) { await receive(event) }
        }
        queue.stop()
        await devices.end()
    }

    private func receive(_ event: EventBusEvent) async {
        switch event {
        case .message(_, let text):
            switch BusMessage(text) {
            case .changed(let conversation, let change): changeNotifier.receive([conversation: change])
            case .memberJoined: changeNotifier.checkJoins()
            case .started: changeNotifier.noteOtherInstance()
            case .typing(let conversation, let user): deliver(Typing(user: user, conversation: conversation))
            case .presence(let presence, let conversations): presences.receive(presence, in: conversations)
            case nil: break
            }
        case .missed:
            missed.increment()
            // The other instances may not know this one, nor this one them.
            changeNotifier.noteOtherInstance()
            changeNotifier.publish(.started)
            checkAllRooms()
        }
    }
}
