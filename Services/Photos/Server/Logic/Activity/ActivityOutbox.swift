import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import ServiceLifecycle
import Wire

/// Delivers activity to push: claims due groups, reads their current content, sends it and completes the claim.
///
/// Delivery is at least once. Undelivered rounds stay in the outbox, and push recognises a repeated round by its
/// notification id.
struct ActivityOutbox: Sendable {
    /// How many groups are claimed at once; push accepts this many notifications in one request.
    private static let batch = PushClient.maximumNotifications
    /// How long a claim lasts, in seconds; longer than a delivery takes.
    private static let claim = 60.0

    private let outbox: ActivityOutboxStore
    private let push: PushClient
    private let links: MediaLinks
    /// The minimum interval between two rounds of a group, in seconds.
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

    var maintenance: [any Service] {
        [PeriodicTask("measurement of the push outbox", every: .seconds(5), logger: logger, recordLag)]
    }

    func deliverBatch() async throws -> OutboxWorker.Outcome {
        let (claimed, unreadable) = try await outbox.claim(by: workerID, limit: Self.batch, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .activity)
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        return try await deliver(claimed)
    }

    /// Delivers rounds.
    ///
    /// If one of several rounds may have caused a failure, each is delivered separately. A round that fails alone is
    /// retried later.
    private func deliver(_ claimed: [ActivityRound]) async throws -> OutboxWorker.Outcome {
        do {
            let (content, unreadable) = try await outbox.content(of: claimed)
            let notifications = content.map { ActivityNotification(content: $0, links: links) }
            let failed =
                try await send(notifications)
                .map { FailedRow($0.key, .failing, detail: "rejected by push") } + unreadable
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
                // The release fails too while the database is unavailable; then the claims expire.
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

    /// Recalls comments that were deleted or edited during delivery, because push may have received the recall before
    /// the notification.
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

    /// Sends notifications and returns the rounds that push rejected and that are to be retried.
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
                // Push rejects the whole batch because of one notification: each is sent separately to find it.
                var retryLater: Set<ActivityRound> = []
                for notification in notifications { retryLater.formUnion(try await send([notification])) }
                return retryLater
            }
            return handleError(error, round, request)
        }
    }

    /// Drops a notification that push will never accept; returns the round if a retry may succeed.
    private func handleError(
        _ error: APIError,
        _ round: ActivityRound,
        _ request: NotificationRequest
    ) -> Set<ActivityRound> {
        let isPermanent = [.invalid, .tooLarge, .unprocessable, .conflict].contains(error.kind)
        rejected.increment()
        logger.error(
            isPermanent ? "notification dropped" : "notification rejected",
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
