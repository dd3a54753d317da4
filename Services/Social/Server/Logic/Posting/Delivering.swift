import Foundation
import Logging
import Postgres
import SocialAPI
import Wire

/// Brings a parcel to its network, once: whatever happens on the way, what people see is never sent twice.
struct Delivering: Sendable {
    /// How long a look for what may have been posted takes at most.
    private static let patience: Duration = .seconds(5)
    /// What was sent so many seconds ago and is not to be seen is not under way any more: the request itself has twenty
    /// (`Posting`), and the next attempt of a post whose process died comes forty after at the earliest.
    private static let settling: TimeInterval = 35
    /// How long a post of the same `Idempotency-Key` is the same, in seconds.
    private static let memory: TimeInterval = 86_400

    let database: PostgresPool
    let asking: Asking
    let logger: Logger
    let now: @Sendable () -> Date

    private var store: DeliveryStore<PostgresPool> { DeliveryStore(db: database) }

    /// Notes what is to be brought to networks, or finds it as an attempt before has noted it.
    ///
    /// - Throws: `unprocessable` where something else has its name.
    func note(_ record: PostRecord) async throws -> PostRecord {
        let expiry = now().addingTimeInterval(-Self.memory)
        let kept = try await PostStore(db: database).insert(record, expiry: expiry)
        guard kept.says(record) else {
            throw APIError(
                .unprocessable,
                "idempotency_key_reused",
                "this Idempotency-Key came with another request before",
                field: "Idempotency-Key"
            )
        }
        return kept
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
    func deliver(
        _ parcel: Parcel,
        _ id: UUID,
        by source: Source,
        parts: [PostElement: Bool] = [:],
        within limit: Duration
    ) async throws -> PostResult {
        var source = source
        var delivery = try await store.begin(id, on: source.network, parts: parts, now: now())
        switch delivery.state {
        case .done: return delivery.result ?? PostResult(code: 200)
        case .sent, .unknown:
            if let result = try await lookAgain(parcel, &delivery, by: &source) { return result }
        case .waiting: break
        }
        return try await send(parcel, &delivery, by: &source, within: limit)
    }

    /// Looks for what may have been posted before.
    ///
    /// - Returns: what came of it; nil where it waits as if nothing had been sent.
    private func lookAgain(
        _ parcel: Parcel,
        _ delivery: inout DeliveryRecord,
        by source: inout Source
    ) async throws -> PostResult? {
        // Sent again with the same key it is surely done once.
        if source.connector.repeatsSafely {
            return try await back(to: .waiting, &delivery) ? nil : Self.underWay
        }
        switch await look(for: parcel, delivery, by: &source) {
        case .found(let posted): return try await finish(delivery, Self.result(posted, source.network))
        case .unknown: return Self.unknown
        case .absent:
            // The request may be on its way to the network still, from here or from another instance.
            guard delivery.sentAt.map({ now().timeIntervalSince($0) > Self.settling }) ?? true else {
                return delivery.state == .sent ? Self.underWay : Self.unknown
            }
            return try await back(to: .waiting, &delivery) ? nil : Self.underWay
        }
    }

    private func send(
        _ parcel: Parcel,
        _ delivery: inout DeliveryRecord,
        by source: inout Source,
        within limit: Duration
    ) async throws -> PostResult {
        let start = ContinuousClock.now
        do {
            if delivery.prepared == nil {
                delivery.prepared = try await asking.ask(&source, within: limit) { connector, account in
                    try await parcel.prepare(by: connector, as: account)
                }
                if delivery.prepared != nil { try await store.keep(delivery.prepared, of: delivery) }
            }
        } catch let error as NetworkError {
            return try await refused(error, delivery)
        }
        guard try await store.move(delivery, from: .waiting, to: .sent, now: now()) else {
            return Self.underWay
        }
        delivery.state = .sent
        let prepared = delivery.prepared
        do {
            let left = max(limit - start.duration(to: .now), .seconds(1))
            let posted = try await asking.ask(&source, within: left, isWrite: true) { connector, account in
                try await parcel.publish(prepared, by: connector, as: account)
            }
            return try await finish(delivery, Self.result(posted, source.network))
        } catch let error as NetworkError {
            return try await unsent(error, parcel, &delivery, by: &source)
        }
    }

    /// The one request that counts has failed: for certain, or nobody knows.
    private func unsent(
        _ error: NetworkError,
        _ parcel: Parcel,
        _ delivery: inout DeliveryRecord,
        by source: inout Source
    ) async throws -> PostResult {
        guard error.kind == .unknownOutcome else {
            if error.isLasting { return try await finish(delivery, Self.result(error)) }
            _ = try await back(to: .waiting, &delivery)
            return Self.result(error)
        }
        let metadata: Logger.Metadata = ["network": "\(source.network.rawValue)", "reason": "\(error.reason)"]
        logger.notice("nobody knows whether a post was taken", metadata: metadata)
        // Seen, it was posted; not seen, it may still come.
        if case .found(let posted) = await look(for: parcel, delivery, by: &source) {
            return try await finish(delivery, Self.result(posted, source.network))
        }
        _ = try await back(to: .unknown, &delivery)
        return Self.unknown
    }

    /// Before anybody could see it: tried again with the post where it may pass.
    private func refused(_ error: NetworkError, _ delivery: DeliveryRecord) async throws -> PostResult {
        error.isLasting ? try await finish(delivery, Self.result(error)) : Self.result(error)
    }

    // MARK: Looking

    enum Look {
        case found(Posted)
        /// The network surely does not have it.
        case absent
        case unknown
    }

    func look(for parcel: Parcel, _ delivery: DeliveryRecord, by source: inout Source) async -> Look {
        let prepared = delivery.prepared
        do {
            let posted = try await asking.ask(&source, within: Self.patience) { connector, account in
                try await parcel.find(prepared, by: connector, as: account)
            }
            return posted.map(Look.found) ?? .absent
        } catch {
            return .unknown
        }
    }

    // MARK: States

    @discardableResult
    func finish(_ delivery: DeliveryRecord, _ result: PostResult) async throws -> PostResult {
        _ = try await store.move(delivery, from: delivery.state, to: .done, result: result, now: now())
        return result
    }

    private func back(to state: DeliveryRecord.State, _ delivery: inout DeliveryRecord) async throws -> Bool {
        guard try await store.move(delivery, from: delivery.state, to: state, now: now()) else { return false }
        delivery.state = state
        return true
    }

    static func result(_ posted: Posted, _ network: Network) -> PostResult {
        PostResult(code: 200, id: posted.id.map { ItemID(network, $0).description }, url: posted.url)
    }

    static func result(_ error: NetworkError) -> PostResult {
        let report = NetworkReport(error)
        return PostResult(code: report.code, reason: report.reason)
    }

    private static let underWay = PostResult(code: 409, reason: "it is being posted already")

    static let unknown = PostResult(
        code: 504,
        reason: "nobody knows whether it was posted; it is looked for, and not posted again"
    )
}
