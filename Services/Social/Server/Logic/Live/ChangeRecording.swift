import PushAPI
import ServiceHost

/// The journal of changes, with the streams and the push outbox that read from it.
struct ChangeRecording: Sendable {
    let journal: Journal
    let listeners: StreamListeners
    /// Nil without push.
    let handOvers: HandOvers?

    init(_ settings: LiveConfiguration, push: PushClient?, _ resources: ServiceResources) {
        let listeners = StreamListeners(capacity: settings.maximumStreams, ofUser: settings.maximumStreamsOfUser)
        let handOvers = push.map { push in
            let telling = PushTelling(
                database: resources.database,
                push: push,
                setAside: resources.setAside,
                logger: resources.logger,
                now: resources.now
            )
            return HandOvers(to: "push", [telling.round], logger: resources.logger)
        }
        (self.listeners, self.handOvers) = (listeners, handOvers)
        journal = Journal(database: resources.database, tellsPush: push != nil, now: resources.now) { user in
            listeners.wake(user)
            handOvers?.ring()
        }
    }
}
