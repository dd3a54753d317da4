import PushAPI
import ServiceHost

/// The change log with its readers: the streams and the push outbox.
struct ChangeRecording: Sendable {
    let changeLog: ChangeLog
    let subscribers: StreamSubscribers
    /// Nil without push.
    let outboxWorker: OutboxWorker?

    init(_ settings: RealtimeConfiguration, push: PushClient?, _ resources: ServiceResources) {
        let subscribers = StreamSubscribers(capacity: settings.maximumStreams, ofUser: settings.maximumStreamsOfUser)
        let outboxWorker = push.map { push in
            let outbox = ChangePushOutbox(
                database: resources.database,
                push: push,
                setAside: resources.setAside,
                logger: resources.logger,
                now: resources.now
            )
            return OutboxWorker(to: "push", [outbox.round], logger: resources.logger)
        }
        (self.subscribers, self.outboxWorker) = (subscribers, outboxWorker)
        changeLog = ChangeLog(database: resources.database, notifiesPush: push != nil, now: resources.now) { user in
            subscribers.wake(user)
            outboxWorker?.notify()
        }
    }
}
