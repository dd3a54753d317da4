import Crypto
import Foundation
import SocialAPI
import Wire

/// Posts to several networks at once: each element goes to every chosen network that accepts it (seed comblie).
struct CrossPoster: Sendable {
    /// The time limit of a post: the response must begin within the gateway's 30 seconds.
    private static let timeout: Duration = .seconds(20)

    let sources: Sources
    let networkGateway: NetworkGateway
    let identities: Identities
    let publisher: Publisher
    let media: PostMedia
    let now: @Sendable () -> Date

    /// Posts now.
    ///
    /// - Parameters:
    ///   - draft: The post and its networks.
    ///   - content: The draft's content with its files.
    ///   - caller: The author.
    ///   - key: The `Idempotency-Key`; a request with the same key continues the earlier attempt.
    /// - Returns: The result of each network.
    /// - Throws: `no_target_network` if no network accepts an element.
    func post(_ draft: FeedDraft, _ content: PostContent, for caller: Caller, key: String?) async throws -> PostResponse
    {
        let plan = try await requirePlan(draft, content, for: caller)
        let at = now()
        let record = PostRecord(
            id: Self.id(of: key, caller.user),
            user: caller.user,
            draft: draft,
            createdAt: at,
            dueAt: at,
            isScheduled: false
        )
        let registered = try await publisher.register(record)
        guard plan.hasFetchedMedia else { return PostResponse(try await execute(plan, content, registered)) }
        try await media.save(content, of: registered)
        let results = try await execute(plan, content, registered)
        // A network that has not responded, or another request with the same key, may still fetch the files.
        let mayBeFetched = results.values.contains { [409, 429, 503, 504].contains($0.code) }
        // The error is ignored: the sweep removes remaining files when their addresses have expired.
        if !mayBeFetched { try? await media.discard(registered.id) }
        return PostResponse(results)
    }

    /// The assignment of a post's elements to networks.
    struct Plan: Sendable {
        struct Part: Sendable {
            var source: Source
            var name: String
            var accepted: [PostElement]
        }

        var parts: [Part] = []
        /// The networks that accept no element, by the names in the request.
        var rejected: [String: PostResult] = [:]
        var elements: [PostElement] = []

        /// Whether a network fetches the post's files itself.
        var hasFetchedMedia: Bool {
            parts.contains { part in
                part.source.connector.fetchesMedia && (part.accepted.contains(.photo) || part.accepted.contains(.video))
            }
        }
    }

    /// Returns the plan of a post.
    ///
    /// - Throws: `missing_field` if there is nothing to post, `no_target_network` if no network accepts an element.
    func requirePlan(_ draft: FeedDraft, _ content: PostContent, for caller: Caller) async throws -> Plan {
        let plan = try await plan(draft, content, for: caller)
        guard !plan.parts.isEmpty else {
            throw APIError.invalid(
                "data",
                "none of the chosen networks accepts this content",
                code: "no_target_network"
            )
        }
        return plan
    }

    /// Returns the plan of a post, possibly without any network.
    ///
    /// - Throws: `missing_field` if there is nothing to post.
    func plan(_ draft: FeedDraft, _ content: PostContent, for caller: Caller) async throws -> Plan {
        let all = try await sources.all(for: caller)
        let chosen = draft.networks.map { $0.compactMap { Network(named: $0) } } ?? all.map(\.network)
        var plan = Plan(elements: content.elements)
        guard !plan.elements.isEmpty else { throw APIError.missing("data") }
        for network in chosen {
            let name = draft.name(of: network)
            guard let source = all.first(where: { $0.network == network }) else {
                plan.rejected[name] = rejectedResult("\(network.rawValue) is not linked", plan.elements)
                continue
            }
            let accountCapabilities = source.connector.accountCapabilities(of: source.account)
            let accepted = content.accepted(by: accountCapabilities)
            if accepted.isEmpty {
                let reasons = plan.elements.compactMap { accountCapabilities.reasons[$0.capability] }
                plan.rejected[name] = rejectedResult(
                    reasons.first ?? "\(network.rawValue) does not accept this content",
                    plan.elements
                )
            } else {
                plan.parts.append(Plan.Part(source: source, name: name, accepted: accepted))
            }
        }
        return plan
    }

    private func rejectedResult(_ reason: String, _ elements: [PostElement]) -> PostResult {
        PostResult(code: 422, reason: reason, parts: Dictionary(uniqueKeysWithValues: elements.map { ($0, 422) }))
    }

    /// Posts to all networks at once, in a task that continues when the client disconnects.
    func execute(_ plan: Plan, _ content: PostContent, _ post: PostRecord) async throws -> [String: PostResult] {
        let work = Task {
            try await withThrowingTaskGroup(of: (String, PostResult).self) { tasks in
                for part in plan.parts {
                    tasks.addTask { (part.name, try await publish(part, of: plan, content, post)) }
                }
                return try await tasks.reduce(into: plan.rejected) { $0[$1.0] = $1.1 }
            }
        }
        return try await work.value
    }

    private func publish(
        _ part: Plan.Part,
        of plan: Plan,
        _ content: PostContent,
        _ post: PostRecord
    ) async throws -> PostResult {
        var source = part.source
        let content = try source.connector.fetchesMedia ? media.addressed(content, of: post.id) : content
        let own = content.post(of: part.accepted, key: Self.key(post.id, source.network), createdAt: post.createdAt)
        let parts = plan.elements.map { ($0, part.accepted.contains($0)) }
        var result: PostResult
        do {
            try await identities.complete(&source, networkGateway, within: networkGateway.deadline)
            result = try await publisher.publish(
                .post(own),
                post.id,
                by: source,
                parts: Dictionary(uniqueKeysWithValues: parts),
                within: Self.timeout
            )
        } catch let error as NetworkError {
            result = Publisher.result(error)
        }
        for (element, isAccepted) in parts { result.parts[element] = isAccepted ? result.code : 422 }
        return result
    }

    /// Returns the post's id, which is the same for the same `Idempotency-Key` of the same user.
    static func id(of key: String?, _ user: User.ID) -> UUID {
        guard let key else { return UUID() }
        let parts = ["post", user.application, user.user, key].map { "\($0.utf8.count):\($0)" }.joined()
        return uuid(of: parts)
    }

    /// Returns the key by which a network may detect a repeated post.
    static func key(_ post: UUID, _ network: Network) -> UUID { uuid(of: "\(post) \(network.rawValue)") }

    /// Returns a UUID of version 8 (RFC 9562, section 5.8) made from a hash.
    private static func uuid(of text: String) -> UUID {
        var bytes = Array(Array(SHA256.hash(data: Data(text.utf8))).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
