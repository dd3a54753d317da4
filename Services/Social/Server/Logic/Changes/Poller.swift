import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle
import SocialAPI
import Wire

/// Polls users' lists for changes that networks do not send by webhook or stream.
///
/// The aim is a poll every 15 seconds (seed comblie), within the budget of each network's application key. The budget
/// is counted in the database for all instances together. The list of an absent user without changes is polled less and
/// less often.
struct Poller: Sendable {
    /// The shortest and the longest pause between two polls of a list, in seconds.
    static let pause = 15.0
    private static let longestPause = 900.0
    /// The maximum duration of a poll, in seconds; after that another instance may claim the list.
    private static let claim = 60.0
    /// The number of changed threads that one poll reads, and the time limit of each.
    ///
    /// Together they take less than `claim`.
    private static let threadsOfPoll = 10
    private static let threadLimit: Duration = .seconds(4)
    private static let messagesOfThread = 20

    let database: PostgresPool
    let sources: Sources
    let networkGateway: NetworkGateway
    let identities: Identities
    let changeLog: ChangeLog
    let senders: MessageSenders
    /// `SOCIAL_POLLS_PER_HOUR`: the polls per hour of each network's application key.
    let budgets: [Network: Double]
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    private static let polls = Counter(label: "roost_social_polls_total")

    /// A scheduler per network, so that a network that hangs does not delay the others.
    var maintenance: [any Service] {
        sources.connectors.all.map(\.network).filter { $0 != .roost }.map { network in
            PollScheduler(of: network, logger: logger, claim: claim, poll: poll)
        }
    }

    /// Claims the due polls of a network within its budget.
    private func claim(_ network: Network, limit: Int) async throws -> [ClaimedPoll] {
        guard try await PollStore(db: database).isDue(network, now: now()) else { return [] }
        let end = now().addingTimeInterval(Self.claim)
        let (claimed, unreadable) = try await database.transaction { db in
            let store = PollStore(db: db)
            let left = try await store.budget(of: network, filledBy: budgets[network] ?? 600, now: now())
            guard left >= 1 else { return (values: [ClaimedPoll](), unreadable: [FailedRow]()) }
            let claimed = try await store.claim(network, now: now(), until: end, limit: min(limit, Int(left)))
            try await store.spend(claimed.values.count, of: network)
            return claimed
        }
        try await setAside.failed(unreadable, of: .polledList)
        Self.polls.increment(by: claimed.count)
        return claimed
    }

    private func poll(_ claimed: ClaimedPoll) async {
        do {
            guard var source = try await source(of: claimed.key) else { return }
            try await identities.complete(&source, networkGateway, within: .seconds(10))
            let list = claimed.key.list
            let page = try await networkGateway.call(&source, within: .seconds(10)) { connector, account in
                try await list.page(PageRequest(limit: 40), of: connector, as: account)
            }
            let items = page.items.map(\.item)
            let messages = try await messages(of: items, claimed, &source)
            let hasChanges = try await record(items, messages, of: claimed)
            try await reschedule(claimed, hasChanges: hasChanges, notBefore: page.budget?.share(at: now()))
        } catch {
            await failed(error, claimed)
        }
    }

    /// Records a page; returns whether there are changes.
    ///
    /// Most polls find none, and then nothing is written.
    private func record(
        _ page: [Item],
        _ messages: [String: ThreadMessages],
        of claimed: ClaimedPoll
    ) async throws -> Bool {
        var polledList = claimed.polledList
        let changes = try polledList.record(page, messages: messages, of: claimed.key)
        guard !changes.isEmpty || polledList.seen != claimed.polledList.seen || !claimed.polledList.hasBaseline else {
            return false
        }
        return try await changeLog.record(page, messages: messages, of: claimed.key) > 0
    }

    /// Reads the messages of the threads that have changed since the last poll.
    ///
    /// Each message becomes an item with its own id, the same as from a webhook.
    private func messages(
        of page: [Item],
        _ claimed: ClaimedPoll,
        _ source: inout Source
    ) async throws -> [String: ThreadMessages] {
        guard claimed.key.list == .messages else { return [:] }
        senders.note(page, of: claimed.key.user)
        var messages: [String: ThreadMessages] = [:]
        for thread in try claimed.polledList.threadsToRead(of: page).prefix(Self.threadsOfPoll) {
            guard let name = thread.thread else { continue }
            do {
                let read = try await networkGateway.call(&source, within: Self.threadLimit) { connector, account in
                    try await connector.messages(of: name, PageRequest(limit: Self.messagesOfThread), as: account)
                }
                messages[thread.id.native] = .read(read.items.map(\.item))
            } catch let error as NetworkError where error.concernsThreadAlone {
                messages[thread.id.native] = .unreadable
            }
        }
        if !messages.isEmpty { try await PollStore(db: database).spend(messages.count, of: claimed.key.network) }
        return messages
    }

    private func source(of key: PolledListKey) async throws -> Source? {
        try await AccountStore(db: database).account(of: key.user, on: key.network).flatMap(sources.source(of:))
    }

    /// Sets when the list is polled next.
    ///
    /// The list of a present user is polled 15 seconds after this poll began, with or without changes. Only the budget
    /// of the application key can delay it. The list of an absent user is polled less and less often.
    private func reschedule(
        _ claimed: ClaimedPoll,
        hasChanges: Bool,
        for least: Double = 0,
        notBefore: Date? = nil
    ) async throws {
        let isFrequent = hasChanges || claimed.isUserPresent
        let pause = isFrequent ? Self.pause : min(max(claimed.polledList.pause * 1.5, Self.pause), Self.longestPause)
        // Random, so that lists that were linked at the same time are not always polled at the same time.
        let spread = claimed.isUserPresent ? Double.random(in: 0.9...1) : Double.random(in: 0.9...1.1)
        let start = least > pause ? now() : claimed.begin
        let due = max(now(), start.addingTimeInterval(max(pause, least) * spread))
        try await PollStore(db: database).reschedule(
            after: claimed,
            until: max(due, notBefore ?? due),
            notBefore: notBefore,
            pause: pause
        )
    }

    private func failed(_ error: any Error, _ claimed: ClaimedPoll) async {
        let error = NetworkError(error, isWrite: false)
        let wait: Double =
            switch error.kind {
            case .rateLimited(let until): until.map { min($0.timeIntervalSince(now()), 3_600) } ?? 300
            // Only the user can solve these, by linking the account again, which restarts polling.
            case .auth, .permission, .unsupported: 3_600
            default: 60
            }
        // The error is ignored: if the database is unavailable, the claim expires on its own.
        try? await reschedule(claimed, hasChanges: false, for: wait, notBefore: now().addingTimeInterval(wait))
        logger.debug(
            "poll of a list failed",
            metadata: ["network": "\(claimed.key.network)", "reason": "\(error.reason)"]
        )
    }

    /// Starts polling an account's lists.
    ///
    /// A list without the capability is not polled and only receives network events.
    func begin(_ record: AccountRecord, supported: Set<Capability>, in db: PostgresTransaction) async throws {
        for list in NetworkEvent.List.allCases {
            let key = PolledListKey(user: record.user, network: record.network, list: list)
            let due = supported.contains(list.capability) ? now() : nil
            try await PollStore(db: db).begin(key, at: due, pause: Self.pause)
        }
    }
}

extension NetworkError {
    /// Whether the network rejects this thread only, and another attempt would fail as well.
    fileprivate var concernsThreadAlone: Bool {
        switch kind {
        case .notFound, .invalid, .permission, .unsupported: true
        case .auth, .rateLimited, .transient, .unknownOutcome: false
        }
    }
}

extension Budget {
    /// The earliest next poll that leaves half of the account's remaining limit for the user's own requests.
    fileprivate func share(at now: Date) -> Date? {
        guard scope == .account, let resetAt, resetAt > now else { return nil }
        let polls = (remaining / 2).rounded(.down)
        return polls < 1 ? resetAt : now.addingTimeInterval(resetAt.timeIntervalSince(now) / polls)
    }
}

extension NetworkEvent.List: CaseIterable {
    static let allCases: [NetworkEvent.List] = [.feed, .messages, .notifications]

    var capability: Capability {
        switch self {
        case .feed: .feed
        case .messages: .messages
        case .notifications: .notifications
        }
    }

    /// Returns the newest page of the list; for messages, the threads.
    func page(
        _ request: PageRequest,
        of connector: any Connector,
        as account: NetworkAccount
    ) async throws -> NetworkPage {
        switch self {
        case .feed: try await connector.feed(request, as: account)
        case .messages: try await connector.threads(request, as: account)
        case .notifications: try await connector.notifications(request, as: account)
        }
    }
}
