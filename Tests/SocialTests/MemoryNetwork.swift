import Foundation
import SocialAPI
import Wire

@testable import SocialServer

/// The in-memory networks of a test.
struct MemoryNetworks: Sendable {
    let all: [MemoryNetwork]
    let clock: TestClock

    init(
        _ networks: [Network] = [.facebook, .twitter, .tumblr, .reddit, .mastodon],
        clock: TestClock = TestClock()
    ) {
        all = networks.map { MemoryNetwork($0, clock: clock.read) }
        self.clock = clock
    }

    subscript(network: Network) -> MemoryNetwork {
        guard let found = all.first(where: { $0.network == network }) else {
            preconditionFailure("the fixture has no \(network)")
        }
        return found
    }
}

/// A network whose lists and behavior the test sets, and whose tokens are the accounts' names.
struct MemoryNetwork: Connector {
    /// The ways in which networks page their lists.
    enum Paging: CaseIterable, Sendable {
        /// After the item with an id (Mastodon, Reddit).
        case after
        /// From an offset, which shifts when something is posted (Tumblr).
        case offset
        /// From an item, which is repeated (Twitter 1.1 without subtracting 1 from `max_id`).
        case inclusive
    }

    struct Behavior: Sendable {
        var paging = Paging.after
        /// The maximum number of items of a page.
        var pageSize = 20
        /// The percentage of pages that are empty and have a next page.
        var emptyPages = 0
        /// The percentage of later pages that are empty and have themselves as the next page.
        var repeatedEmptyPages = 0
        /// Returns the error that a request fails with, if any.
        var failure: (@Sendable () -> (any Error)?)?
        /// Awaited before each response.
        var gate: (@Sendable () async throws -> Void)?
        var supported = Set(Capability.allCases)
        var budget: Budget?
        var limits = PostLimits()
        var reasons: [Capability: String] = [:]
        /// The outcome of publishing.
        var publishing = Publishing.accepts
        var isIdempotent = false
        /// Whether webhook subscriptions are accepted.
        var acceptsSubscriptions = true
        /// Fetches a post's photo from its URL while the post is prepared; nil for a network that receives the bytes.
        var fetch: (@Sendable (String) async throws -> Void)?
        /// Whether the account id that a client provides is used without a request.
        var acceptsProvidedID = true
    }

    enum Publishing: Sendable {
        case accepts
        /// Accepts the post, but the response is lost.
        case acceptsWithoutResponse
        /// Loses both the post and the response.
        case losesWithoutResponse
        case rejects(NetworkError)
    }

    /// A post or message that users see.
    struct VisiblePost: Sendable {
        var key: UUID
        var text: String
        var photo: String?
        var location: ItemLocation?
        var thread: String?
        var by: String
    }

    let network: Network
    let behavior = Shared(Behavior())
    /// The lists by token, newest first.
    let lists = Shared<[String: [NetworkItem]]>([:])
    /// The requests, such as `feed ann`.
    let asked = Shared<[String]>([])
    let seen = Shared<[VisiblePost]>([])
    /// Threads whose messages cannot be read.
    let unreadable = Shared<Set<String>>([])
    /// The keys of lost posts.
    let lost = Shared<[UUID]>([])
    /// The outcome of renewing tokens; nil if they do not expire.
    let renewing = Shared<Renewing?>(nil)
    /// Awaited before tokens are renewed.
    let beforeRenewal = Shared<(@Sendable () async throws -> Void)?>(nil)
    /// The refresh tokens that were used.
    let refreshTokens = Shared<[String]>([])

    enum Renewing: Sendable {
        /// Returns access tokens for an hour and an empty refresh token, like some networks.
        case renews
        case fails(any Error)
    }

    let clock: @Sendable () -> Date
    /// The open streams by token.
    let openStreams = Shared<[String: AsyncThrowingStream<NetworkEvent, any Error>.Continuation]>([:])

    init(_ network: Network, clock: @escaping @Sendable () -> Date) {
        self.network = network
        self.clock = clock
    }

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        AccountCapabilities(
            supported: behavior.value.supported,
            limits: behavior.value.limits,
            reasons: behavior.value.reasons
        )
    }

    var isIdempotent: Bool { behavior.value.isIdempotent }

    var fetchesMedia: Bool { behavior.value.fetch != nil }

    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.id != nil && behavior.value.acceptsProvidedID }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        try await simulate("identify", account)
        return NetworkIdentity(
            id: "id of \(account.tokens.access)",
            username: account.tokens.access,
            avatarUrl: "https://\(network.rawValue).example/picture.jpg"
        )
    }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        try await simulate("feed", account)
        return try self.page(page, of: account.tokens.access)
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        try await simulate("notifications", account)
        return try self.page(page, of: account.tokens.access + "/notifications")
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        try await simulate("threads", account)
        return try self.page(page, of: account.tokens.access + "/threads")
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        try await simulate("messages", account)
        if unreadable.value.contains(thread) { throw NetworkError(.notFound, "there is no such thread") }
        return try self.page(page, of: account.tokens.access + "/threads/" + thread)
    }

    var renewal: TimeInterval? { renewing.value == nil ? nil : 300 }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        asked.change { $0.append("renew \(account.tokens.access)") }
        refreshTokens.change { $0.append(account.tokens.refresh ?? "") }
        try await beforeRenewal.value?()
        if case .fails(let error) = renewing.value { throw error }
        let base = account.tokens.access.prefix { $0 != "+" }
        return NetworkTokens(access: base + "+", refresh: "", expiresAt: clock().addingTimeInterval(3_600))
    }

    func revoke(_ account: NetworkAccount) async throws { try await simulate("revoke", account) }

    func simulate(_ what: String, _ account: NetworkAccount) async throws {
        asked.change { $0.append("\(what) \(account.tokens.access)") }
        let behavior = behavior.value
        try await behavior.gate?()
        if let failure = behavior.failure?() { throw failure }
    }

    private struct Cursor: Codable {
        var id: String?
        var offset: Int?
        /// The number of empty pages so far.
        var empties: Int?
    }

    private func page(_ request: PageRequest, of list: String) throws -> NetworkPage {
        let behavior = behavior.value
        let items = lists.value[list] ?? []
        var cursor = try request.cursor?.read(as: Cursor.self) ?? Cursor()
        if behavior.emptyPages > Int.random(in: 0..<100), cursor.empties ?? 0 < 3 {
            cursor.empties = (cursor.empties ?? 0) + 1
            return NetworkPage([], next: try NetworkCursor(cursor), budget: behavior.budget)
        }
        if behavior.repeatedEmptyPages > Int.random(in: 0..<100), let cursor = request.cursor {
            return NetworkPage([], next: cursor, budget: behavior.budget)
        }
        let start = start(of: cursor, in: items)
        let end = min(
            start + max(min(behavior.pageSize, request.limit), behavior.paging == .inclusive ? 2 : 1),
            items.count
        )
        let given = Array(items[start..<end])
        guard end < items.count else { return NetworkPage(given, budget: behavior.budget) }
        let next = Cursor(id: given.last?.item.id.native, offset: end)
        return NetworkPage(given, next: try NetworkCursor(next), budget: behavior.budget)
    }

    private func start(of cursor: Cursor, in items: [NetworkItem]) -> Int {
        if behavior.value.paging == .offset { return min(cursor.offset ?? 0, items.count) }
        guard let id = cursor.id, let index = items.firstIndex(where: { $0.item.id.native == id }) else { return 0 }
        return behavior.value.paging == .inclusive ? index : index + 1
    }
}

extension MemoryNetwork {
    /// Fills a list with an item for each time in seconds, newest first.
    func fill(_ list: String, times: [Int], named prefix: String = "") {
        let items = times.enumerated().map { index, time in
            item("\(prefix)\(list)-\(index)", at: time)
        }
        lists.change { $0[list] = items }
    }

    func item(_ id: String, at time: Int, original: String? = nil) -> NetworkItem {
        let at = Date(timeIntervalSince1970: 1_700_000_000 + Double(time))
        let author = ItemAuthor(id: "1", name: "Someone")
        let item = Item(id: ItemID(network, id), kind: .post, author: author, text: "text of \(id)", createdAt: at)
        return NetworkItem(item, original: original)
    }
}
