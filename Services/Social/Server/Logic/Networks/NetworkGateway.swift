import Foundation
import Metrics
import ServiceHost
import SocialAPI

/// Asks networks: each within its time, through its circuit, with tokens that are renewed where they must be.
struct NetworkGateway: Sendable {
    /// `SOCIAL_DEADLINE_MS`: how long one network has for its part of an answer.
    let deadline: Duration
    let circuitBreakers: CircuitBreakers
    let renewals: Renewals?
    let now: @Sendable () -> Date

    /// Asks once; again only where tokens were renewed for it.
    ///
    /// - Parameters:
    ///   - source: the account; replaced where its tokens were renewed.
    ///   - limit: the time there is.
    ///   - isWrite: whether the network may have done something when no answer comes.
    ///   - call: what is asked.
    /// - Returns: what it answered.
    /// - Throws: `NetworkError`, or `CancellationError`.
    func call<Value: Sendable>(
        _ source: inout Source,
        within limit: Duration,
        isWrite: Bool = false,
        _ call: @escaping @Sendable (any Connector, NetworkAccount) async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        if source.record?.state == .reauthenticate {
            throw NetworkError(.auth, "the account must be linked anew")
        }
        try circuitBreakers.admit(source)
        if let renewals, renewals.isDue(source) {
            do {
                source = try await renewedIfNeeded(source, renewals, within: limit)
            } catch {
                // Whoever was let in to try whether the network is well has not tried it.
                circuitBreakers.releaseProbe(source)
                throw error
            }
        }
        do {
            return try await attempt(source, limit - start.duration(to: .now), isWrite, call)
        } catch let error as NetworkError where error.kind == .auth {
            guard let renewals, let record = source.record else { throw error }
            guard source.connector.renewal != nil else {
                try await renewals.requireReauthentication(record)
                throw error
            }
            source = try await renewed(source, renewals, within: limit - start.duration(to: .now))
            return try await attempt(source, limit - start.duration(to: .now), isWrite, call)
        }
    }

    /// Tokens that last a little longer are used as they are while they cannot be renewed, or that takes its time.
    private func renewedIfNeeded(
        _ source: Source,
        _ renewals: Renewals,
        within limit: Duration
    ) async throws -> Source {
        let lasts = source.account.tokens.expiresAt.map { $0 > now() } ?? true
        do {
            return try await renewed(source, renewals, within: lasts ? limit / 2 : limit)
        } catch let error as NetworkError where error.kind == .transient {
            guard !lasts else { return source }
            circuitBreakers.record(error, of: source)
            throw error
        }
    }

    /// Waits for new tokens no longer than there is time; they are renewed all the same, for who comes next.
    private func renewed(_ source: Source, _ renewals: Renewals, within limit: Duration) async throws -> Source {
        do {
            return try await within(limit) { try await renewals.renewed(source) }
        } catch is DeadlineExceeded {
            throw NetworkError(.transient, "the tokens are being renewed", code: "late")
        }
    }

    private func attempt<Value: Sendable>(
        _ source: Source,
        _ limit: Duration,
        _ isWrite: Bool,
        _ call: @escaping @Sendable (any Connector, NetworkAccount) async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        do {
            let value = try await within(limit) { try await call(source.connector, source.account) }
            circuitBreakers.record((value as? any Budgeted)?.budget, of: source)
            Self.count(source, start, "ok")
            return value
        } catch is CancellationError {
            circuitBreakers.releaseProbe(source)
            throw CancellationError()
        } catch {
            let error =
                error is DeadlineExceeded
                ? NetworkError(
                    isWrite ? .unknownOutcome : .transient,
                    "the network did not answer in time",
                    code: "late"
                )
                : NetworkError(error, isWrite: isWrite)
            circuitBreakers.record(error, of: source)
            Self.count(source, start, error.kind.label)
            throw error
        }
    }

    private static func count(_ source: Source, _ start: ContinuousClock.Instant, _ outcome: String) {
        let labels = [("network", source.network.rawValue), ("outcome", outcome)]
        Timer(label: "roost_social_network_request_duration_seconds", dimensions: labels)
            .recordNanoseconds(start.duration(to: .now).nanoseconds)
    }
}

/// An answer that says how much more may be asked.
protocol Budgeted {
    var budget: Budget? { get }
}

extension NetworkPage: Budgeted {}
extension PublishedPost: Budgeted {}

extension NetworkError.Class {
    /// As metrics have it.
    var label: String {
        switch self {
        case .auth: "auth"
        case .permission: "permission"
        case .rateLimited: "rate_limited"
        case .invalid: "invalid"
        case .notFound: "not_found"
        case .unsupported: "unsupported"
        case .transient: "transient"
        case .unknownOutcome: "unknown"
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
