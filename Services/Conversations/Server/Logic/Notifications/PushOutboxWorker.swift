import ConversationsAPI
import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import Wire

/// Hands messages over to push: claims conversations, reads what is to be said and to whom, tells it, and settles.
///
/// Nothing is lost: what push has not taken stays in the outbox, and what it has taken is known to it by its id, so that it
/// may be told again. While push is away the claims are given back; a notification that it does not want is given up.
struct PushOutboxWorker: Sendable {
    /// How many members are read at once, and told in one notification.
    static let page = 500
    /// How many conversations are claimed at once.
    private static let conversations = 32
    /// How long a claim holds, in seconds; longer than anything between two renewals takes.
    private static let claim = 30.0
    private static let renewal = Duration.seconds(10)

    let claimant: String
    let outbox: PushOutboxStore
    let store: NotableMessageStore
    let push: PushClient
    let names: SenderNames
    let setAside: SetAside
    let logger: Logger
    let metrics: PushMetrics
    /// Pages whose muted members were logged within the last minute: a busy conversation does not fill the log with them.
    let muted: Throttle<MutedPage>

    /// Somebody else has a conversation by now.
    private struct ClaimLost: Error {}
    private struct PushUnavailable: Error {}

    /// Claims what waits, and hands it over.
    func runOnce() async throws -> OutboxWorker.Outcome {
        let (claimed, unreadable) =
            try await outbox
            .claim(by: claimant, limit: Self.conversations, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .pushOutbox)
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        return try await deliver(claimed)
    }

    /// Hands over conversations.
    ///
    /// Where one of several may be the reason of a failure, each is handed over by itself; a conversation that fails alone
    /// is retried later.
    private func deliver(_ claimed: [ClaimedConversation]) async throws -> OutboxWorker.Outcome {
        var work = Work(claimed)
        do {
            try await deliver(&work)
            return .done
        } catch is ClaimLost {
            return .done
        } catch is PushUnavailable {
            metrics.away.increment()
            try await outbox.release(work.open, by: claimant)
            return .away
        } catch {
            guard FailedRow([], error) != nil else {
                // In vain where the database is unavailable: then the claims end by themselves.
                try? await outbox.release(work.open, by: claimant)
                throw error
            }
            guard work.open.count > 1 else {
                try await setAside.failed(
                    work.open.flatMap { $0.rows.compactMap { FailedRow(["\($0)"], error) } },
                    of: .pushOutbox
                )
                return .done
            }
            for (index, conversation) in work.open.enumerated() {
                guard try await deliver([conversation]) != .away else {
                    try await outbox.release(Array(work.open.dropFirst(index + 1)), by: claimant)
                    return .away
                }
            }
            return .done
        }
    }

    /// What was claimed and is not settled.
    private struct Work {
        private(set) var open: [ClaimedConversation]
        var renewed = ContinuousClock.now

        init(_ claimed: [ClaimedConversation]) { open = claimed }

        /// The next ones that have this many members or so together, at least one.
        func next(_ found: [Conversation.ID: NotableConversation]) -> [ClaimedConversation] {
            var members = 0
            let some = open.prefix { conversation in
                members += found[conversation.id]?.memberCount ?? 0
                return members <= PushOutboxWorker.page
            }
            return Array(some.isEmpty ? open.prefix(1) : some)
        }

        mutating func settle(_ settled: [ClaimedConversation]) {
            let ids = Set(settled.map(\.id))
            open.removeAll { ids.contains($0.id) }
        }
    }

    private func deliver(_ work: inout Work) async throws {
        let (found, unreadable) = try await store.messages(of: work.open)
        try await setAside.failed(unreadable, of: .message)
        await names.load(
            found.values.flatMap { conversation in
                conversation.messages.map { (conversation.application, $0) }
            }
        )
        while !work.open.isEmpty {
            let batch = work.next(found)
            let refused = try await notify(batch.compactMap { found[$0.id] }, &work)
            let (stuck, done) = (batch.filter { refused.contains($0.id) }, batch.filter { !refused.contains($0.id) })
            if !done.isEmpty { try await outbox.delete(done, delivered: found) }
            try await setAside.failed(
                stuck.flatMap { $0.rows.map { FailedRow(["\($0)"], .failing, detail: "refused by push") } },
                of: .pushOutbox
            )
            work.settle(batch)
        }
    }

    /// Tells what is new in some conversations, members page by page; answers those that push could not take.
    private func notify(_ conversations: [NotableConversation], _ work: inout Work) async throws -> Set<Conversation.ID>
    {
        let messageNotifications = conversations.map { conversation in
            (
                conversation,
                conversation.messages.compactMap { message in
                    let name = names.name(of: message, in: conversation.application)
                    return MessageNotification(message, in: conversation, by: name)
                }
            )
        }.filter { !$0.1.isEmpty }
        var behind = Dictionary(messageNotifications.map { ($0.0.id, "") }) { first, _ in first }
        var stuck: Set<Conversation.ID> = []
        while !behind.isEmpty {
            let asked = messageNotifications.filter { behind[$0.0.id] != nil && !stuck.contains($0.0.id) }
            let pages = try await pages(asked, behind)
            var notifications = NotificationBatch()
            for (conversation, messageNotifications) in asked {
                guard let (members, last) = pages[conversation.id] else {
                    behind[conversation.id] = nil
                    continue
                }
                behind[conversation.id] = last
                for (index, messageNotification) in messageNotifications.enumerated() {
                    let page = MutedPage(conversation: conversation.id, mark: members.mark)
                    let logsMuted = index == 0 && !muted.isHeld(page)
                    guard let request = messageNotification.request(to: members, logsMuted: logsMuted) else { continue }
                    let size = messageNotification.size(request)
                    if !notifications.hasRoom(for: request, size) {
                        try await send(notifications.takeAll(), &stuck, &work)
                    }
                    notifications.add(request, of: page, size)
                }
            }
            try await send(notifications.takeAll(), &stuck, &work)
            for conversation in stuck { behind[conversation] = nil }
        }
        return stuck
    }

    /// The next members of each conversation, and the name behind which there are more; none: that was all.
    private func pages(
        _ asked: [(NotableConversation, [MessageNotification])],
        _ behind: [Conversation.ID: String]
    ) async throws -> [Conversation.ID: (NotablePage, last: String?)] {
        let members = try await store.members(
            of: asked.map { ($0.0.id, after: behind[$0.0.id] ?? "") },
            limit: Self.page
        )
        let queries = asked.flatMap { conversation, messageNotifications -> [BlockedPairQuery] in
            guard let page = members[conversation.id], let first = page.first, let last = page.last else { return [] }
            return Set(messageNotifications.map { Array($0.message.sender.utf8) }).map { sender in
                BlockedPairQuery(
                    conversation: conversation.id,
                    sender: String(decoding: sender, as: UTF8.self),
                    first: first.user,
                    last: last.user
                )
            }
        }
        let blockedPairs = queries.isEmpty ? [:] : try await store.blockedPeers(queries)
        return members.reduce(into: [:]) { pages, found in
            let (id, page) = found
            let isLast = page.count < Self.page
            let isAll = isLast && behind[id] == ""
            pages[id] = (
                NotablePage(page, isAll: isAll, blockedPairs: blockedPairs[id] ?? []),
                last: isLast ? nil : page.last?.user
            )
        }
    }

    /// Hands over some notifications; those of conversations that are stuck are left out.
    private func send(
        _ entries: [NotificationBatch.Entry],
        _ stuck: inout Set<Conversation.ID>,
        _ work: inout Work
    ) async throws {
        let entries = entries.filter { !stuck.contains($0.conversation) }
        guard !entries.isEmpty else { return }
        if ContinuousClock.now - work.renewed > Self.renewal {
            let held = try await outbox.renew(work.open, by: claimant, seconds: Self.claim)
            guard held == work.open.count else { throw ClaimLost() }
            work.renewed = .now
        }
        do {
            try await push.notify(entries.map(\.request))
            for entry in entries where entry.request.withheld != nil { _ = muted.passes(entry.page) }
            metrics.notified.increment(by: entries.reduce(0) { $0 + $1.request.recipients.count })
        } catch let error as APIError where !error.isTransient {
            guard entries.count == 1, let entry = entries.first else {
                // One of them is not wanted: which one, each says for itself.
                for entry in entries { try await send([entry], &stuck, &work) }
                return
            }
            handleRejection(entry, error, &stuck)
        } catch is APIError {
            throw PushUnavailable()
        }
    }

    /// What push will never want is given up; for anything else it is asked again later, and others are not kept waiting.
    private func handleRejection(
        _ entry: NotificationBatch.Entry,
        _ error: APIError,
        _ stuck: inout Set<Conversation.ID>
    ) {
        let isPermanent = [.invalid, .tooLarge, .unprocessable, .conflict].contains(error.kind)
        metrics.refused.increment()
        logger.error(
            isPermanent ? "a notification was given up" : "a notification was refused",
            metadata: ["notification": "\(entry.request.id)", "code": "\(error.code)", "field": "\(error.field ?? "")"]
        )
        if !isPermanent { stuck.insert(entry.conversation) }
    }
}

/// Members of a conversation whose muted ones are logged together.
struct MutedPage: Hashable, Sendable {
    let conversation: Conversation.ID
    /// As in `NotablePage`.
    let mark: String?
}

/// Notifications that travel in one call.
private struct NotificationBatch {
    struct Entry: Sendable {
        let request: NotificationRequest
        let page: MutedPage

        var conversation: Conversation.ID { page.conversation }
    }

    /// Half of what a service reads of a body, in bytes.
    private static let maximumSize = 524_288

    private var entries: [Entry] = []
    private var recipients = 0
    private var size = 0

    func hasRoom(for request: NotificationRequest, _ bytes: Int) -> Bool {
        entries.count < PushClient.maximumNotifications
            && recipients + request.recipients.count <= NotificationRequest.maximumRecipients
            && (entries.isEmpty || size + bytes <= Self.maximumSize)
    }

    mutating func add(_ request: NotificationRequest, of page: MutedPage, _ bytes: Int) {
        entries.append(Entry(request: request, page: page))
        recipients += request.recipients.count
        size += bytes
    }

    mutating func takeAll() -> [Entry] {
        defer { self = NotificationBatch() }
        return entries
    }
}
