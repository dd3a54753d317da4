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
struct NewsRelay: Sendable {
    /// How many groups are claimed at once; as many as one call to push may carry.
    private static let batch = PushClient.maximumNotifications
    /// How long a claim holds, in seconds; longer than a round takes.
    private static let claim = 60.0

    private let outbox: NewsOutbox
    private let push: PushClient
    private let links: MediaLinks
    /// From one round of a group to the next, in seconds.
    private let pause: Double
    private let database: PostgresPool
    private let events: EventOutbox
    private let setAside: SetAside
    private let logger: Logger
    private let claimant = Base64URL.random(bytes: 9)
    private let told = Counter(label: "roost_photos_push_notified_total")
    private let away = Counter(label: "roost_photos_push_failures_total", dimensions: [("reason", "away")])
    private let refused = Counter(label: "roost_photos_push_failures_total", dimensions: [("reason", "refused")])
    private let waiting = Gauge(label: "roost_photos_push_outbox_rows")
    private let oldest = Gauge(label: "roost_photos_push_outbox_oldest_age_seconds")

    init(
        database: PostgresPool,
        push: PushClient,
        links: MediaLinks,
        pause: Double,
        events: EventOutbox = .none,
        setAside: SetAside,
        logger: Logger
    ) {
        self.database = database
        self.events = events
        outbox = NewsOutbox(database: database)
        self.push = push
        self.links = links
        self.pause = pause
        self.setAside = setAside
        self.logger = logger
    }

    /// What goes on besides the rounds.
    var upkeep: [any Service] {
        [Periodic("look at what waits for push", every: .seconds(5), logger: logger, look)]
    }

    func round() async throws -> HandOvers.Outcome {
        let (claimed, unreadable) = try await outbox.claim(by: claimant, limit: Self.batch, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .news)
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        return try await handOver(claimed)
    }

    /// Hands over rounds.
    ///
    /// Where one of several may be the reason of a failure, each is handed over by itself; a round that fails alone is
    /// retried later.
    private func handOver(_ claimed: [NewsRound]) async throws -> HandOvers.Outcome {
        do {
            let (facts, unreadable) = try await outbox.facts(of: claimed)
            let notices = facts.map { NewsNotice(facts: $0, links: links) }
            let failed =
                try await tell(notices)
                .map { FailedRow($0.key, .failing, detail: "refused by push") } + unreadable
            try await recallChanged(notices)
            let keys = Set(failed.map(\.key))
            let (told, settled) = (Set(facts.map(\.round)), claimed.filter { !keys.contains($0.key) })
            if !settled.isEmpty {
                let untold = settled.filter { !told.contains($0) }
                try await outbox.settle(settled, untold: untold, by: claimant, pause: pause)
            }
            try await setAside.failed(failed, of: .news)
            return .done
        } catch let error as APIError where error.isAbsence {
            away.increment()
            try await outbox.release(claimed, by: claimant)
            return .away
        } catch {
            guard let failed = claimed.first.flatMap({ FailedRow($0.key, error) }) else {
                // In vain where the database is unavailable: then the claims end by themselves.
                try? await outbox.release(claimed, by: claimant)
                throw error
            }
            guard claimed.count > 1 else {
                try await setAside.failed([failed], of: .news)
                return .done
            }
            for (index, round) in claimed.enumerated() {
                guard try await handOver([round]) != .away else {
                    try await outbox.release(Array(claimed.dropFirst(index + 1)), by: claimant)
                    return .away
                }
            }
            return .done
        }
    }

    /// Recalls comments that were deleted or edited while they were told: push may have received their recall first.
    private func recallChanged(_ notices: [NewsNotice]) async throws {
        let told = notices.filter { $0.facts.round.kind == PhotoNews.Kind.comment.rawValue && $0.facts.count == 1 }
        guard !told.isEmpty, !events.subscribers(of: NotificationRecalled.self).isEmpty else { return }
        let (facts, unreadable) = try await outbox.facts(of: told.map(\.facts.round))
        let texts = Dictionary(facts.map { ($0.round, $0.comment) }) { first, _ in first }
        let unknown = Set(unreadable.map(\.key))
        let changed = told.filter { notice in
            let round = notice.facts.round
            return texts[round] != notice.facts.comment && !unknown.contains(round.key)
        }
        try await events.write(
            changed.compactMap { notice in
                notice.request.map { request in
                    NotificationRecalled(
                        applicationId: request.applicationId,
                        notificationId: request.id,
                        isDeleted: texts[notice.facts.round] == nil
                    )
                }
            },
            in: database
        )
    }

    /// Answers the rounds that push could not take, though it is there.
    private func tell(_ notices: [NewsNotice]) async throws -> Set<NewsRound> {
        let requests = notices.compactMap { notice in notice.request.map { (notice.facts.round, $0) } }
        guard !requests.isEmpty else { return [] }
        do {
            try await push.notify(requests.map(\.1))
            told.increment(by: requests.count)
            return []
        } catch let error as APIError where !error.isAbsence {
            guard notices.count == 1, let (round, request) = requests.first else {
                // One of them is not wanted: which one, each says for itself.
                var stuck: Set<NewsRound> = []
                for notice in notices { stuck.formUnion(try await tell([notice])) }
                return stuck
            }
            return judge(error, round, request)
        }
    }

    /// What push will never want is given up; for anything else it is asked again later.
    private func judge(_ error: APIError, _ round: NewsRound, _ request: NotificationRequest) -> Set<NewsRound> {
        let isHopeless = [.invalid, .tooLarge, .unprocessable, .conflict].contains(error.kind)
        refused.increment()
        logger.error(
            isHopeless ? "a notification was given up" : "a notification was refused",
            metadata: ["notification": "\(request.id)", "code": "\(error.code)", "field": "\(error.field ?? "")"]
        )
        return isHopeless ? [] : [round]
    }

    private func look() async throws {
        let lag = try await outbox.lag()
        waiting.record(lag.waiting)
        oldest.record(lag.oldest)
    }
}
