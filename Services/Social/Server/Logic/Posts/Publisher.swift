import Foundation
import Logging
import Postgres
import SocialAPI
import Wire

/// Brings a parcel to its network, once: whatever happens on the way, what people see is never sent twice.
struct Publisher: Sendable {
    /// How long a look for what may have been posted takes at most.
    private static let timeout: Duration = .seconds(5)
    /// What was sent so many seconds ago and is not to be seen is not under way any more: the request itself has twenty
    /// (`CrossPoster`), and the next attempt of a post whose process died comes forty after at the earliest.
    private static let settleTime: TimeInterval = 35
    /// How long a post of the same `Idempotency-Key` is the same, in seconds.
    private static let idempotencyWindow: TimeInterval = 86_400

    let database: PostgresPool
    let networkGateway: NetworkGateway
    let logger: Logger
    let now: @Sendable () -> Date

    private var store: PublicationStore<PostgresPool> { PublicationStore(db: database) }

    /// Notes what is to be brought to networks, or finds it as an attempt before has noted it.
    ///
    /// - Throws: `unprocessable` where something else has its name.
    func register(_ record: PostRecord) async throws -> PostRecord {
        let expiry = now().addingTimeInterval(-Self.idempotencyWindow)
        let stored = try await PostStore(db: database).insert(record, expiry: expiry)
        guard stored.hasSameContent(record) else {
            throw APIError(
                .unprocessable,
                "idempotency_key_reused",
                "this Idempotency-Key came with another request before",
                field: "Idempotency-Key"
            )
        }
        return stored
    }

    /// Goes on where an attempt before has stopped, or begins.
    ///
    /// - Parameters:
    ///   - parcel: what this network takes of the post.
    ///   - id: the post's.
    ///   - source: whose account it is posted by.
    ///   - parts: the post's elements, and whether the network takes each.
    ///   - limit: the time there is.
    /// - Returns: what came of it, without parts.
    /// - Throws: what the database throws; of the network nothing.
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

    /// Looks for what may have been posted before.
    ///
    /// - Returns: what came of it; nil where it waits as if nothing had been sent.
    private func recheck(
        _ publishRequest: PublishRequest,
        _ publication: inout PublicationRecord,
        by source: inout Source
    ) async throws -> PostResult? {
        // Sent again with the same key it is surely done once.
        if source.connector.isIdempotent {
            return try await revert(to: .waiting, &publication) ? nil : Self.inProgress
        }
        switch await lookUp(for: publishRequest, publication, by: &source) {
        case .found(let posted): return try await finish(publication, Self.result(posted, source.network))
        case .unknown: return Self.unknown
        case .absent:
            // The request may be on its way to the network still, from here or from another instance.
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

    /// The one request that counts has failed: for certain, or nobody knows.
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
        logger.notice("nobody knows whether a post was taken", metadata: metadata)
        // Seen, it was posted; not seen, it may still come.
        if case .found(let posted) = await lookUp(for: publishRequest, publication, by: &source) {
            return try await finish(publication, Self.result(posted, source.network))
        }
        _ = try await revert(to: .unknown, &publication)
        return Self.unknown
    }

    /// Before anybody could see it: tried again with the post where it may pass.
    private func handleRejection(_ error: NetworkError, _ publication: PublicationRecord) async throws -> PostResult {
        error.isLasting ? try await finish(publication, Self.result(error)) : Self.result(error)
    }

    // MARK: Looking

    enum LookupResult {
        case found(PublishedPost)
        /// The network surely does not have it.
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

    private static let inProgress = PostResult(code: 409, reason: "it is being posted already")

    static let unknown = PostResult(
        code: 504,
        reason: "nobody knows whether it was posted; it is looked for, and not posted again"
    )
}
