import ConversationsAPI
import Foundation
import Logging
import Metrics
import Postgres
import PushAPI
import ServiceHost
import Wire

/// A worker of the push outbox: claims conversations, reads their messages and members, notifies push, and deletes the
/// rows.
///
/// No notification is lost: rows stay in the outbox until push has accepted them. Push recognizes a repeated
/// notification by its id. While push is unavailable, claims are released. A notification that push rejects is dropped.
struct PushOutboxWorker: Sendable {
    /// The maximum number of members read at once and notified in one request.
    static let page = 500
    /// The maximum number of conversations in one claim.
    private static let conversations = 32
    /// The duration of a claim in seconds, which is longer than any step between two renewals.
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
    /// Pages whose muted members were logged within the last minute, so that a busy conversation does not fill the log.
    let muted: Throttle<MutedPage>

    /// Another worker has claimed a conversation meanwhile.
    private struct ClaimLost: Error {}
    private struct PushUnavailable: Error {}

    /// Claims conversations with rows in the outbox, and delivers them.
    func runOnce() async throws -> OutboxWorker.Outcome {
        let (claimed, unreadable) =
            try await outbox
            .claim(by: claimant, limit: Self.conversations, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .pushOutbox)
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        return try await deliver(claimed)
    }

    /// Delivers conversations.
    ///
    /// When any of several may be the cause of a failure, each is delivered separately. A conversation that fails alone
    /// is retried later.
    private func deliver(_ claimed: [ClaimedConversation]) async throws -> OutboxWorker.Outcome {
        var work = Work(claimed)
        do {
            try await deliver(&work)
            return .done
        } catch is ClaimLost {
            return .done
        } catch is PushUnavailable {
            metrics.unavailable.increment()
            try await outbox.release(work.open, by: claimant)
            return .away
        } catch {
            guard FailedRow([], error) != nil else {
                // This fails while the database is unavailable; the claims then expire.
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

    /// The conversations that are claimed and not finished.
    private struct Work {
        private(set) var open: [ClaimedConversation]
        var renewed = ContinuousClock.now

        init(_ claimed: [ClaimedConversation]) { open = claimed }

        /// Returns the next conversations with at most about a page of members in total, at least one conversation.
        func next(_ found: [Conversation.ID: NotableConversation]) -> [ClaimedConversation] {
            var members = 0
            let some = open.prefix { conversation in
                members += found[conversation.id]?.memberCount ?? 0
                return members <= PushOutboxWorker.page
            }
            return Array(some.isEmpty ? open.prefix(1) : some)
        }

        mutating func finish(_ finished: [ClaimedConversation]) {
            let ids = Set(finished.map(\.id))
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
            work.finish(batch)
        }
    }

    /// Notifies push about some conversations, members page by page; returns the conversations that push could not
    /// accept.
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
        var cursors = Dictionary(messageNotifications.map { ($0.0.id, "") }) { first, _ in first }
        var stuck: Set<Conversation.ID> = []
        while !cursors.isEmpty {
            let pending = messageNotifications.filter { cursors[$0.0.id] != nil && !stuck.contains($0.0.id) }
            let pages = try await pages(pending, cursors)
            var notifications = NotificationBatch()
            for (conversation, messageNotifications) in pending {
                guard let (members, last) = pages[conversation.id] else {
                    cursors[conversation.id] = nil
                    continue
                }
                cursors[conversation.id] = last
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
            for conversation in stuck { cursors[conversation] = nil }
        }
        return stuck
    }

    /// Returns the next members of each conversation, with the last user's id when more follow; absent when all are
    /// done.
    private func pages(
        _ pending: [(NotableConversation, [MessageNotification])],
        _ cursors: [Conversation.ID: String]
    ) async throws -> [Conversation.ID: (NotablePage, last: String?)] {
        let members = try await store.members(
            of: pending.map { ($0.0.id, after: cursors[$0.0.id] ?? "") },
            limit: Self.page
        )
        let queries = pending.flatMap { conversation, messageNotifications -> [BlockedPairQuery] in
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
            let isAll = isLast && cursors[id] == ""
            pages[id] = (
                NotablePage(page, isAll: isAll, blockedPairs: blockedPairs[id] ?? []),
                last: isLast ? nil : page.last?.user
            )
        }
    }

    /// Sends notifications to push, except those of stuck conversations.
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
                // Push rejects at least one of them; separate requests show which.
                for entry in entries { try await send([entry], &stuck, &work) }
                return
            }
            handleRejection(entry, error, &stuck)
        } catch is APIError {
            throw PushUnavailable()
        }
    }

    /// Drops a notification that push rejects for good; any other rejection is retried later, without delaying others.
    private func handleRejection(
        _ entry: NotificationBatch.Entry,
        _ error: APIError,
        _ stuck: inout Set<Conversation.ID>
    ) {
        let isPermanent = [.invalid, .tooLarge, .unprocessable, .conflict].contains(error.kind)
        metrics.refused.increment()
        logger.error(
            isPermanent ? "push rejected notification, dropping it" : "push rejected notification, will retry",
            metadata: ["notification": "\(entry.request.id)", "code": "\(error.code)", "field": "\(error.field ?? "")"]
        )
        if !isPermanent { stuck.insert(entry.conversation) }
    }
}

/// A page of members whose muted members are logged together.
struct MutedPage: Hashable, Sendable {
    let conversation: Conversation.ID
    /// The mark of the `NotablePage`.
    let mark: String?
}

/// Notifications that are sent in one request.
private struct NotificationBatch {
    struct Entry: Sendable {
        let request: NotificationRequest
        let page: MutedPage

        var conversation: Conversation.ID { page.conversation }
    }

    /// Half of the maximum size of a service's request body, in bytes.
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
