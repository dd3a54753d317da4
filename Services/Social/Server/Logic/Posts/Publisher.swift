import Foundation
import Logging
import Postgres
import SocialAPI
import Wire

/// Publishes a post or a reply on its network at most once: the request that makes it visible is never sent twice.
struct Publisher: Sendable {
    /// The time limit of a lookup.
    private static let timeout: Duration = .seconds(5)
    /// The time after which a request whose post is not found can no longer be in progress, in seconds.
    ///
    /// The request itself takes up to 20 seconds (`CrossPoster`). The next attempt after a crash comes at least 40
    /// seconds later.
    private static let settleTime: TimeInterval = 35
    /// The time for which an `Idempotency-Key` identifies the same post, in seconds.
    private static let idempotencyWindow: TimeInterval = 86_400

    let database: PostgresPool
    let networkGateway: NetworkGateway
    let logger: Logger
    let now: @Sendable () -> Date

    private var store: PublicationStore<PostgresPool> { PublicationStore(db: database) }

    /// Stores a post, or returns the one that an earlier attempt has stored.
    ///
    /// - Throws: `idempotency_key_reused` if the stored post has different content.
    func register(_ record: PostRecord) async throws -> PostRecord {
        let expiry = now().addingTimeInterval(-Self.idempotencyWindow)
        let stored = try await PostStore(db: database).insert(record, expiry: expiry)
        guard stored.hasSameContent(record) else {
            throw APIError(
                .unprocessable,
                "idempotency_key_reused",
                "this Idempotency-Key was already used for a different request",
                field: "Idempotency-Key"
            )
        }
        return stored
    }

    /// Publishes a post, or continues an earlier attempt.
    ///
    /// - Parameters:
    ///   - publishRequest: The part of the post that this network accepts.
    ///   - id: The post's id.
    ///   - source: The account that publishes.
    ///   - parts: The post's elements, and whether the network accepts each.
    ///   - limit: The time limit.
    /// - Returns: The result, without parts.
    /// - Throws: Database errors only; an error of the network is part of the result.
    func publish(
        _ publishRequest: PublishRequest,
        _ id: UUID,
        by source: Source,
        parts: [PostElement: Bool] = [:],
        within limit: Duration
    ) async throws -> PostResult {
        var source = source
        var publication = try await store.begin(id, on: source.network, parts: parts, now: now())
        switch publication.state {
        case .done: return publication.result ?? PostResult(code: 200)
        case .sent, .unknown:
            if let result = try await recheck(publishRequest, &publication, by: &source) { return result }
        case .waiting: break
        }
        return try await send(publishRequest, &publication, by: &source, within: limit)
    }

    /// Looks for a post that an earlier attempt may have published.
    ///
    /// - Returns: The result; nil if the publication is waiting again, as if nothing had been sent.
    private func recheck(
        _ publishRequest: PublishRequest,
        _ publication: inout PublicationRecord,
        by source: inout Source
    ) async throws -> PostResult? {
        // The network ignores a repeated request with the same key, so sending again is safe.
        if source.connector.isIdempotent {
            return try await revert(to: .waiting, &publication) ? nil : Self.inProgress
        }
        switch await lookUp(for: publishRequest, publication, by: &source) {
        case .found(let posted): return try await finish(publication, Self.result(posted, source.network))
        case .unknown: return Self.unknown
        case .absent:
            // The request may still be on its way to the network, from this or another instance.
            guard publication.sentAt.map({ now().timeIntervalSince($0) > Self.settleTime }) ?? true else {
                return publication.state == .sent ? Self.inProgress : Self.unknown
            }
            return try await revert(to: .waiting, &publication) ? nil : Self.inProgress
        }
    }

    private func send(
        _ publishRequest: PublishRequest,
        _ publication: inout PublicationRecord,
        by source: inout Source,
        within limit: Duration
    ) async throws -> PostResult {
        let start = ContinuousClock.now
        do {
            if publication.prepared == nil {
                publication.prepared = try await networkGateway.call(&source, within: limit) { connector, account in
                    try await publishRequest.prepare(by: connector, as: account)
                }
                if publication.prepared != nil { try await store.save(publication.prepared, of: publication) }
            }
        } catch let error as NetworkError {
            return try await handleRejection(error, publication)
        }
        guard try await store.move(publication, from: .waiting, to: .sent, now: now()) else {
            return Self.inProgress
        }
        publication.state = .sent
        let prepared = publication.prepared
        do {
            let left = max(limit - start.duration(to: .now), .seconds(1))
            let posted = try await networkGateway.call(&source, within: left, isWrite: true) { connector, account in
                try await publishRequest.publish(prepared, by: connector, as: account)
            }
            return try await finish(publication, Self.result(posted, source.network))
        } catch let error as NetworkError {
            return try await handleFailure(error, publishRequest, &publication, by: &source)
        }
    }

    /// Handles a failure of the request that publishes: a certain failure, or an unknown outcome.
    private func handleFailure(
        _ error: NetworkError,
        _ publishRequest: PublishRequest,
        _ publication: inout PublicationRecord,
        by source: inout Source
    ) async throws -> PostResult {
        guard error.kind == .unknownOutcome else {
            if error.isLasting { return try await finish(publication, Self.result(error)) }
            _ = try await revert(to: .waiting, &publication)
            return Self.result(error)
        }
        let metadata: Logger.Metadata = ["network": "\(source.network.rawValue)", "reason": "\(error.reason)"]
        logger.notice("post outcome unknown", metadata: metadata)
        // A post that is found was published; one that is not found may still appear.
        if case .found(let posted) = await lookUp(for: publishRequest, publication, by: &source) {
            return try await finish(publication, Self.result(posted, source.network))
        }
        _ = try await revert(to: .unknown, &publication)
        return Self.unknown
    }

    /// Handles a failure before the publishing request.
    ///
    /// A transient failure is retried together with the post.
    private func handleRejection(_ error: NetworkError, _ publication: PublicationRecord) async throws -> PostResult {
        error.isLasting ? try await finish(publication, Self.result(error)) : Self.result(error)
    }

    // MARK: Lookup

    enum LookupResult {
        case found(PublishedPost)
        /// The network certainly does not have the post.
        case absent
        case unknown
    }

    func lookUp(
        for publishRequest: PublishRequest,
        _ publication: PublicationRecord,
        by source: inout Source
    ) async -> LookupResult {
        let prepared = publication.prepared
        do {
            let posted = try await networkGateway.call(&source, within: Self.timeout) { connector, account in
                try await publishRequest.find(prepared, by: connector, as: account)
            }
            return posted.map(LookupResult.found) ?? .absent
        } catch {
            return .unknown
        }
    }

    // MARK: States

    @discardableResult
    func finish(_ publication: PublicationRecord, _ result: PostResult) async throws -> PostResult {
        _ = try await store.move(publication, from: publication.state, to: .done, result: result, now: now())
        return result
    }

    private func revert(to state: PublicationRecord.State, _ publication: inout PublicationRecord) async throws -> Bool
    {
        guard try await store.move(publication, from: publication.state, to: state, now: now()) else { return false }
        publication.state = state
        return true
    }

    static func result(_ posted: PublishedPost, _ network: Network) -> PostResult {
        PostResult(code: 200, id: posted.id.map { ItemID(network, $0).description }, url: posted.url)
    }

    static func result(_ error: NetworkError) -> PostResult {
        let report = NetworkReport(error)
        return PostResult(code: report.code, reason: report.reason)
    }

    private static let inProgress = PostResult(code: 409, reason: "the post is already being published")

    static let unknown = PostResult(
        code: 504,
        reason: "the outcome is unknown; Roost looks for the post and does not send it again"
    )
}
