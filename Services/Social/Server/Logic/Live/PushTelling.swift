import Crypto
import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import SocialAPI
import Wire

/// Tells push what is new for people, at least once; push knows each by its id.
struct PushTelling: Sendable {
    /// So much of a text is told, in Unicode scalars.
    private static let characters = 300
    /// And so much of a name: a network may give any.
    private static let nameCharacters = 100
    /// How long one instance has for a batch, in seconds.
    private static let claim: TimeInterval = 60

    let database: PostgresPool
    let push: PushClient
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    func round() async throws -> HandOvers.Outcome {
        let store = JournalStore(db: database)
        let end = now().addingTimeInterval(Self.claim)
        let (found, unreadable) =
            try await store
            .claimUntold(now: now(), until: end, limit: PushClient.maximumNotifications)
        try await setAside.failed(unreadable, of: .change)
        // UPDATE … RETURNING returns rows in any order.
        let claimed = found.sorted { $0.place < $1.place }
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        do {
            let refused = try await tell(claimed)
            try await store.settle(claimed.filter { refused[$0.key] == nil }, isTold: true)
            try await setAside.failed(Array(refused.values), of: .change)
            return .done
        } catch let error as APIError where error.isAbsence {
            try await store.settle(claimed, isTold: false)
            return .away
        }
    }

    /// Returns the changes that push refuses.
    ///
    /// Where it refuses a request, each change is sent in a request of its own.
    private func tell(_ changes: [JournalStore<PostgresPool>.Placed]) async throws -> [[String]: FailedRow] {
        do {
            try await push.notify(changes.map(Self.request))
            return [:]
        } catch let error as APIError where !error.isAbsence {
            guard changes.count == 1, let change = changes.first else {
                var refused: [[String]: FailedRow] = [:]
                for change in changes { refused.merge(try await tell([change])) { $1 } }
                return refused
            }
            logger.error("notification refused by push", metadata: ["code": "\(error.code)"])
            return [change.key: FailedRow(change.key, .failing, detail: error.code)]
        }
    }

    private static func request(_ placed: JournalStore<PostgresPool>.Placed) -> NotificationRequest {
        let (change, network) = (placed.change, placed.change.id.network.rawValue)
        let item = change.item
        let body = cut(item?.text ?? "", to: characters)
        return NotificationRequest(
            id: "social:\(Self.hash(of: placed.user)):\(placed.place)",
            applicationId: placed.user.application,
            kind: .social,
            recipients: [NotificationRequest.Recipient(userId: placed.user.user)],
            title: [item.flatMap(Self.name), network].compactMap { $0 }.joined(separator: " · "),
            body: body.isEmpty ? nil : body,
            data: .object([
                "type": .string("social"), "network": .string(network), "list": .string(change.list.rawValue),
                "id": .string(change.id.description),
            ]),
            collapseKey: change.list == .feed ? "social-\(network)-feed" : nil,
            priority: change.list == .feed ? .low : .normal,
            bodyMessage: body.isEmpty ? NotificationText("social.new.body", ["network": .text(network)]) : nil
        )
    }

    private static func name(of item: Item) -> String? { item.author.map { cut($0.name, to: nameCharacters) } }

    private static func cut(_ text: String, to limit: Int) -> String {
        text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }

    /// Of one length, however long the name is: push takes an id of 200 bytes.
    private static func hash(of user: User.ID) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(user.user.utf8))).prefix(16))
    }
}
