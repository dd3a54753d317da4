import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Hands over to push what people are to be told: claims what is due, reads what is so by then, tells it, and settles.
///
/// Nothing is lost: what push has not taken stays, and what it has taken is known to it by its id, so it may be told again.
struct ActivityOutbox: Sendable {
    /// How many groups are claimed at once; as many as one call to push may carry.
    private static let batch = PushClient.maximumNotifications
    /// How long a claim holds, in seconds; longer than a round takes.
    private static let claim = 60.0

    private let outbox: ActivityOutboxStore
    private let push: PushClient
    private let links: MediaLinks
    /// From one round of a group to the next, in seconds.
    private let digestInterval: Double
    private let database: PostgresPool
    private let events: EventOutbox
    private let setAside: SetAside
    private let logger: Logger
    private let workerID = Base64URL.random(bytes: 9)
    private let delivered = Counter(label: "roost_photos_push_notified_total")
    private let unavailable = Counter(label: "roost_photos_push_failures_total", dimensions: [("reason", "away")])
    private let rejected = Counter(label: "roost_photos_push_failures_total", dimensions: [("reason", "refused")])
    private let pending = Gauge(label: "roost_photos_push_outbox_rows")
    private let oldest = Gauge(label: "roost_photos_push_outbox_oldest_age_seconds")

    init(
        database: PostgresPool,
        push: PushClient,
        links: MediaLinks,
        digestInterval: Double,
        events: EventOutbox = .none,
        setAside: SetAside,
        logger: Logger
    ) {
        self.database = database
        self.events = events
        outbox = ActivityOutboxStore(database: database)
        self.push = push
        self.links = links
        self.digestInterval = digestInterval
        self.setAside = setAside
        self.logger = logger
    }

    /// What goes on besides the rounds.
    var maintenance: [any Service] {
        [PeriodicTask("look at what waits for push", every: .seconds(5), logger: logger, recordLag)]
    }

    func deliverBatch() async throws -> OutboxWorker.Outcome {
        let (claimed, unreadable) = try await outbox.claim(by: workerID, limit: Self.batch, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .activity)
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        return try await deliver(claimed)
    }

    /// Hands over rounds.
    ///
    /// Where one of several may be the reason of a failure, each is handed over by itself; a round that fails alone is
    /// retried later.
    private func deliver(_ claimed: [ActivityRound]) async throws -> OutboxWorker.Outcome {
        do {
            let (content, unreadable) = try await outbox.content(of: claimed)
            let notifications = content.map { ActivityNotification(content: $0, links: links) }
            let failed =
                try await send(notifications)
                .map { FailedRow($0.key, .failing, detail: "refused by push") } + unreadable
            try await recallChanged(notifications)
            let keys = Set(failed.map(\.key))
            let (delivered, settled) = (Set(content.map(\.round)), claimed.filter { !keys.contains($0.key) })
            if !settled.isEmpty {
                let undelivered = settled.filter { !delivered.contains($0) }
                try await outbox.complete(
                    settled,
                    undelivered: undelivered,
                    by: workerID,
                    digestInterval: digestInterval
                )
            }
            try await setAside.failed(failed, of: .activity)
            return .done
        } catch let error as APIError where error.isTransient {
            unavailable.increment()
            try await outbox.release(claimed, by: workerID)
            return .away
        } catch {
            guard let failed = claimed.first.flatMap({ FailedRow($0.key, error) }) else {
                // In vain where the database is unavailable: then the claims end by themselves.
                try? await outbox.release(claimed, by: workerID)
                throw error
            }
            guard claimed.count > 1 else {
                try await setAside.failed([failed], of: .activity)
                return .done
            }
            for (index, round) in claimed.enumerated() {
                guard try await deliver([round]) != .away else {
                    try await outbox.release(Array(claimed.dropFirst(index + 1)), by: workerID)
                    return .away
                }
            }
            return .done
        }
    }

    /// Recalls comments that were deleted or edited while they were told: push may have received their recall first.
    private func recallChanged(_ notifications: [ActivityNotification]) async throws {
        let delivered = notifications.filter {
            $0.content.round.kind == PhotoActivity.Kind.comment.rawValue && $0.content.count == 1
        }
        guard !delivered.isEmpty, !events.subscribers(of: NotificationRecalled.self).isEmpty else { return }
        let (content, unreadable) = try await outbox.content(of: delivered.map(\.content.round))
        let texts = Dictionary(content.map { ($0.round, $0.comment) }) { first, _ in first }
        let unknown = Set(unreadable.map(\.key))
        let changed = delivered.filter { notification in
            let round = notification.content.round
            return texts[round] != notification.content.comment && !unknown.contains(round.key)
        }
        try await events.write(
            changed.compactMap { notification in
                notification.request.map { request in
                    NotificationRecalled(
                        applicationId: request.applicationId,
                        notificationId: request.id,
                        isDeleted: texts[notification.content.round] == nil
                    )
                }
            },
            in: database
        )
    }

    /// Answers the rounds that push could not take, though it is there.
    private func send(_ notifications: [ActivityNotification]) async throws -> Set<ActivityRound> {
        let requests = notifications.compactMap { notification in
            notification.request.map { (notification.content.round, $0) }
        }
        guard !requests.isEmpty else { return [] }
        do {
            try await push.notify(requests.map(\.1))
            delivered.increment(by: requests.count)
            return []
        } catch let error as APIError where !error.isTransient {
            guard notifications.count == 1, let (round, request) = requests.first else {
                // One of them is not wanted: which one, each says for itself.
                var retryLater: Set<ActivityRound> = []
                for notification in notifications { retryLater.formUnion(try await send([notification])) }
                return retryLater
            }
            return handleError(error, round, request)
        }
    }

    /// What push will never want is given up; for anything else it is asked again later.
    private func handleError(
        _ error: APIError,
        _ round: ActivityRound,
        _ request: NotificationRequest
    ) -> Set<ActivityRound> {
        let isPermanent = [.invalid, .tooLarge, .unprocessable, .conflict].contains(error.kind)
        rejected.increment()
        logger.error(
            isPermanent ? "a notification was given up" : "a notification was refused",
            metadata: ["notification": "\(request.id)", "code": "\(error.code)", "field": "\(error.field ?? "")"]
        )
        return isPermanent ? [] : [round]
    }

    private func recordLag() async throws {
        let lag = try await outbox.lag()
        pending.record(lag.pending)
        oldest.record(lag.oldest)
    }
}
