import Crypto
import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import SocialAPI
import Wire

/// Tells push what is new for people, at least once; push knows each by its id.
struct ChangePushOutbox: Sendable {
    /// So much of a text is told, in Unicode scalars.
    private static let characters = 300
    /// And so much of a name: a network may give any.
    private static let nameCharacters = 100
    /// The most that an item may have of the 4,096 bytes of a push.
    private static let itemBytes = 2_000
    /// How long a silent change is of use, in seconds.
    private static let silentLifetime = 3_600
    /// How long one instance has for a batch, in seconds.
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

    /// Returns the changes that push refuses.
    ///
    /// Where it refuses a request, each change is sent in a request of its own.
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
            logger.error("notification refused by push", metadata: ["code": "\(error.code)"])
            return [change.key: FailedRow(change.key, .failing, detail: error.code)]
        }
    }

    private static func request(_ numbered: ChangeStore<PostgresPool>.NumberedChange) -> NotificationRequest {
        let (change, network) = (numbered.change, numbered.change.id.network.rawValue)
        var request = NotificationRequest(
            id: "social:\(Self.hash(of: numbered.user)):\(numbered.number)",
            applicationId: numbered.user.application,
            kind: .social,
            recipients: [NotificationRequest.Recipient(userId: numbered.user.user)],
            data: data(of: change)
        )
        guard change.isAlert else {
            // Without a title and a body, push sends the data alone, which the app receives in the background.
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
        request.collapseKey = change.list == .feed ? "social-\(network)-feed" : nil
        request.priority = change.list == .feed ? .low : .normal
        return request
    }

    /// What the app receives: what happened, and the item itself as far as a push has room for it.
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

    /// An item without what makes it longer than a push may be: the longest parts go first.
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

    /// In bytes of compact JSON; what cannot be written has no room.
    private static func size(of fields: [String: JSONValue]) -> Int {
        (try? JSONValue.object(fields).compact().count) ?? .max
    }

    /// Nil where the network gives no name, or a number in its place.
    private static func name(of item: Item) -> String? {
        item.author.flatMap { $0.isNameless ? nil : cut($0.name, to: nameCharacters) }
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }

    /// Of one length, however long the name is: push takes an id of 200 bytes.
    private static func hash(of user: User.ID) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(user.user.utf8))).prefix(16))
    }
}
