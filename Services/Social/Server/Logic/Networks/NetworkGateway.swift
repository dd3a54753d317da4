import Foundation
import Metrics
import ServiceHost
import SocialAPI

/// Calls networks: within a time limit, through circuit breakers, and with tokens that are renewed when necessary.
struct NetworkGateway: Sendable {
    /// `SOCIAL_DEADLINE_MS`: the time limit of a network for its part of a response.
    let deadline: Duration
    let circuitBreakers: CircuitBreakers
    let renewals: Renewals?
    let now: @Sendable () -> Date

    /// Calls a network once, and a second time only after renewing its tokens.
    ///
    /// - Parameters:
    ///   - source: The account; replaced by one with renewed tokens.
    ///   - limit: The time limit.
    ///   - isWrite: Whether the network may have done something if no response arrives.
    ///   - call: The request.
    /// - Returns: The result of `call`.
    /// - Throws: `NetworkError` or `CancellationError`.
    func call<Value: Sendable>(
        _ source: inout Source,
        within limit: Duration,
        isWrite: Bool = false,
        _ call: @escaping @Sendable (any Connector, NetworkAccount) async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        if source.record?.state == .reauthenticate {
            throw NetworkError(.auth, "the account must be linked again")
        }
        try circuitBreakers.admit(source)
        if let renewals, renewals.isDue(source) {
            do {
                source = try await renewedIfNeeded(source, renewals, within: limit)
            } catch {
                // The request was possibly admitted as a probe but not sent.
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
            do {
                return try await attempt(source, limit - start.duration(to: .now), isWrite, call)
            } catch let error as NetworkError where error.kind == .auth {
                // Another renewal would give tokens that are refused again, on each request.
                if let record = source.record { try await renewals.requireReauthentication(record) }
                throw error
            }
        }
    }

    /// Renews the tokens.
    ///
    /// Tokens that are still valid are used if their renewal fails in passing or takes too long.
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

    /// Waits for the renewal up to a limit; the renewal itself continues for later requests.
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
                    "the network did not respond in time",
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

/// A response that includes the remaining budget of requests.
protocol Budgeted {
    var budget: Budget? { get }
}

extension NetworkPage: Budgeted {}
extension PublishedPost: Budgeted {}

extension NetworkError.Class {
    /// The value of the `outcome` label in metrics.
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
