import Crypto
import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import SocialAPI
import Wire

/// The outbox that sends changes to push at least once.
///
/// Push detects repeated notifications by their id.
struct ChangePushOutbox: Sendable {
    /// The maximum length of a text in a push, in Unicode scalars.
    private static let characters = 300
    /// The maximum length of a name in a push; networks do not limit names.
    private static let nameCharacters = 100
    /// The maximum size of an item, as part of a push of at most 4,096 bytes.
    private static let itemBytes = 2_000
    /// The lifetime of a silent push, in seconds.
    private static let silentLifetime = 3_600
    /// The time that an instance has to send a batch, in seconds.
    private static let claim: TimeInterval = 60

    let database: PostgresPool
    let push: PushClient
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date

    func round() async throws -> OutboxWorker.Outcome {
        let store = ChangeStore(db: database)
        let end = now().addingTimeInterval(Self.claim)
        let (found, unreadable) =
            try await store
            .claimUnsent(now: now(), until: end, limit: PushClient.maximumNotifications)
        try await setAside.failed(unreadable, of: .change)
        // UPDATE … RETURNING returns rows in any order.
        let claimed = found.sorted { $0.number < $1.number }
        guard !claimed.isEmpty else { return unreadable.isEmpty ? .nothing : .done }
        do {
            let refused = try await send(claimed)
            try await store.settle(claimed.filter { refused[$0.key] == nil }, isSent: true)
            try await setAside.failed(Array(refused.values), of: .change)
            return .done
        } catch let error as APIError where error.isTransient {
            try await store.settle(claimed, isSent: false)
            return .away
        }
    }

    /// Sends changes to push; returns those that push rejects.
    ///
    /// If push rejects a request, each change is sent again in a separate request.
    private func send(_ changes: [ChangeStore<PostgresPool>.NumberedChange]) async throws -> [[String]: FailedRow] {
        do {
            try await push.notify(changes.map(Self.request))
            return [:]
        } catch let error as APIError where !error.isTransient {
            guard changes.count == 1, let change = changes.first else {
                var refused: [[String]: FailedRow] = [:]
                for change in changes { refused.merge(try await send([change])) { $1 } }
                return refused
            }
            logger.error("push rejected a notification", metadata: ["code": "\(error.code)"])
            return [change.key: FailedRow(change.key, .failing, detail: error.code)]
        }
    }

    private static func request(_ numbered: ChangeStore<PostgresPool>.NumberedChange) -> NotificationRequest {
        let (change, network) = (numbered.change, numbered.change.id.network.rawValue)
        var request = NotificationRequest(
            id: "social:\(Self.hash(numbered.user.user)):\(numbered.number)",
            applicationId: numbered.user.application,
            kind: .social,
            recipients: [NotificationRequest.Recipient(userId: numbered.user.user)],
            data: data(of: change)
        )
        guard change.isAlert else {
            // Without a title and a body, push sends only the data, which the app receives in the background.
            request.ttl = silentLifetime
            request.priority = .low
            return request
        }
        if change.kind == .reauthenticate {
            request.titleMessage = NotificationText("social.link.title", ["network": .text(network)])
            request.bodyMessage = NotificationText("social.link.body", ["network": .text(network)])
            request.priority = .high
            return request
        }
        let body = cut(change.item?.text ?? "", to: characters)
        request.title = [change.item.flatMap(Self.name), network].compactMap { $0 }.joined(separator: " · ")
        if body.isEmpty {
            request.bodyMessage = NotificationText("social.new.body", ["network": .text(network)])
        } else {
            request.body = body
        }
        // A key of the item's own: a shared key would let a new post replace another that is not delivered yet. Silent
        // changes have none, because FCM keeps only four collapse keys of a device.
        request.collapseKey = change.list == .feed ? "social-\(Self.hash(change.id.description))" : nil
        request.priority = change.list == .feed ? .low : .normal
        return request
    }

    /// Returns the data for the app: the event, and as much of the item as fits into a push.
    private static func data(of change: ItemChange) -> JSONValue {
        let network = change.id.network.rawValue
        var data: [String: JSONValue] = [
            "type": .string("social"), "event": .string(change.kind.rawValue), "network": .string(network),
            "id": .string(change.id.description),
        ]
        if let list = change.list { data["list"] = .string(list.rawValue) }
        if let item = change.item { data["item"] = self.item(item) }
        return .object(data)
    }

    /// Returns an item for a push; fields are dropped in a fixed order until it fits.
    private static func item(_ item: Item) -> JSONValue {
        var fields: [String: JSONValue] = [
            "kind": .string(item.kind.rawValue), "createdAt": .string(Timestamp.string(from: item.createdAt)),
            "text": .string(cut(item.text, to: characters)),
        ]
        if let thread = item.thread { fields["thread"] = .string(thread) }
        if let url = item.url { fields["url"] = .string(url) }
        if let author = item.author {
            var by: [String: JSONValue] = [
                "id": .string(author.id), "name": .string(cut(author.name, to: nameCharacters)),
            ]
            if let username = author.username { by["username"] = .string(cut(username, to: nameCharacters)) }
            if let avatar = author.avatarUrl { by["avatarUrl"] = .string(avatar) }
            fields["author"] = .object(by)
        }
        if let medium = item.media.first {
            fields["media"] = .object(["kind": .string(medium.kind.rawValue), "url": .string(medium.url)])
        }
        for name in ["media", "author", "url", "text", "thread"] {
            guard size(of: fields) > itemBytes else { break }
            fields[name] = nil
        }
        return .object(fields)
    }

    /// Returns the size in bytes of compact JSON; `Int.max` for fields that cannot be encoded.
    private static func size(of fields: [String: JSONValue]) -> Int {
        (try? JSONValue.object(fields).compact().count) ?? .max
    }

    /// Returns nil if the network gives no name, or gives a number as the name.
    private static func name(of item: Item) -> String? {
        item.author.flatMap { $0.isNameless ? nil : cut($0.name, to: nameCharacters) }
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }

    /// Returns a hash of fixed length: push limits notification ids to 200 bytes and collapse keys to 64.
    private static func hash(_ text: String) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(text.utf8))).prefix(16))
    }
}
