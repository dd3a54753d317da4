import Crypto
import Foundation
import SocialAPI
import Wire

/// Posts to several networks at once: each element goes to every chosen network that takes it (seed comblie).
struct Posting: Sendable {
    /// How long all of a post may take: an answer has to begin within the gateway's thirty seconds.
    private static let patience: Duration = .seconds(20)

    let sources: Sources
    let asking: Asking
    let identities: Identities
    let delivering: Delivering
    let media: PostMedia
    let now: @Sendable () -> Date

    /// Posts now.
    ///
    /// - Parameters:
    ///   - draft: what is posted, and where.
    ///   - content: the same with its files.
    ///   - asker: who posts.
    ///   - key: his `Idempotency-Key`: a post that comes again by it goes on where it was left.
    /// - Returns: what came of it on each network.
    /// - Throws: `invalid` where no element finds any network.
    func post(_ draft: FeedDraft, _ content: PostContent, for asker: Asker, key: String?) async throws -> PostAnswer {
        let plan = try await somewhere(draft, content, for: asker)
        let at = now()
        let record = PostRecord(
            id: Self.id(of: key, asker.user),
            user: asker.user,
            draft: draft,
            createdAt: at,
            dueAt: at,
            isScheduled: false
        )
        let noted = try await delivering.note(record)
        guard plan.hasFetchedMedia else { return PostAnswer(try await carryOut(plan, content, noted)) }
        try await media.keep(content, of: noted)
        let results = try await carryOut(plan, content, noted)
        // A network that has not answered, and another request with the same key, may still fetch the files.
        let mayBeFetched = results.values.contains { [409, 429, 503, 504].contains($0.code) }
        // Silence: what is left is swept within the hour.
        if !mayBeFetched { try? await media.discard(noted.id) }
        return PostAnswer(results)
    }

    /// Which network takes what.
    struct Plan: Sendable {
        /// One account and what it is to post.
        struct Part: Sendable {
            var source: Source
            var name: String
            var taken: [PostElement]
        }

        var parts: [Part] = []
        /// Networks that take nothing, by their names as they were sent.
        var refused: [String: PostResult] = [:]
        var elements: [PostElement] = []

        /// Whether a network fetches the post's files itself.
        var hasFetchedMedia: Bool {
            parts.contains { part in
                part.source.connector.fetchesMedia && (part.taken.contains(.photo) || part.taken.contains(.video))
            }
        }
    }

    /// - Throws: `invalid` where there is nothing to post, or no element finds any network.
    func somewhere(_ draft: FeedDraft, _ content: PostContent, for asker: Asker) async throws -> Plan {
        let plan = try await plan(draft, content, for: asker)
        guard !plan.parts.isEmpty else {
            throw APIError.invalid("data", "none of the chosen networks takes any of it", code: "no_target_network")
        }
        return plan
    }

    /// - Throws: `invalid` where there is nothing to post.
    func plan(_ draft: FeedDraft, _ content: PostContent, for asker: Asker) async throws -> Plan {
        let all = try await sources.all(for: asker)
        let chosen = draft.networks.map { $0.compactMap { Network(named: $0) } } ?? all.map(\.network)
        var plan = Plan(elements: content.elements)
        guard !plan.elements.isEmpty else { throw APIError.missing("data") }
        for network in chosen {
            let name = draft.name(of: network)
            guard let source = all.first(where: { $0.network == network }) else {
                plan.refused[name] = refusal("\(network.rawValue) is not linked", plan.elements)
                continue
            }
            let abilities = source.connector.abilities(of: source.account)
            let taken = content.taken(by: abilities)
            if taken.isEmpty {
                let reasons = plan.elements.compactMap { abilities.reasons[$0.capability] }
                plan.refused[name] = refusal(reasons.first ?? "\(network.rawValue) takes nothing of it", plan.elements)
            } else {
                plan.parts.append(Plan.Part(source: source, name: name, taken: taken))
            }
        }
        return plan
    }

    private func refusal(_ reason: String, _ elements: [PostElement]) -> PostResult {
        PostResult(code: 422, reason: reason, parts: Dictionary(uniqueKeysWithValues: elements.map { ($0, 422) }))
    }

    /// Posts to all at once; nobody who goes away meanwhile leaves something half done.
    func carryOut(_ plan: Plan, _ content: PostContent, _ post: PostRecord) async throws -> [String: PostResult] {
        let work = Task {
            try await withThrowingTaskGroup(of: (String, PostResult).self) { tasks in
                for part in plan.parts {
                    tasks.addTask { (part.name, try await deliver(part, of: plan, content, post)) }
                }
                return try await tasks.reduce(into: plan.refused) { $0[$1.0] = $1.1 }
            }
        }
        return try await work.value
    }

    private func deliver(
        _ part: Plan.Part,
        of plan: Plan,
        _ content: PostContent,
        _ post: PostRecord
    ) async throws -> PostResult {
        var source = part.source
        let content = try source.connector.fetchesMedia ? media.addressed(content, of: post.id) : content
        let own = content.post(of: part.taken, key: Self.key(post.id, source.network), createdAt: post.createdAt)
        let parts = plan.elements.map { ($0, part.taken.contains($0)) }
        var result: PostResult
        do {
            try await identities.complete(&source, asking, within: asking.deadline)
            result = try await delivering.deliver(
                .post(own),
                post.id,
                by: source,
                parts: Dictionary(uniqueKeysWithValues: parts),
                within: Self.patience
            )
        } catch let error as NetworkError {
            result = Delivering.result(error)
        }
        for (element, isTaken) in parts { result.parts[element] = isTaken ? result.code : 422 }
        return result
    }

    /// The post's name, which is the same for the same `Idempotency-Key` of the same person.
    static func id(of key: String?, _ user: User.ID) -> UUID {
        guard let key else { return UUID() }
        let parts = ["post", user.application, user.user, key].map { "\($0.utf8.count):\($0)" }.joined()
        return uuid(of: parts)
    }

    /// What a network may recognise a repetition by.
    static func key(_ post: UUID, _ network: Network) -> UUID { uuid(of: "\(post) \(network.rawValue)") }

    /// A UUID of version 8 (RFC 9562, section 5.8), made of a hash.
    private static func uuid(of text: String) -> UUID {
        var bytes = Array(Array(SHA256.hash(data: Data(text.utf8))).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
