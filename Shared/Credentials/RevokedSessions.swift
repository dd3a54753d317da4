import Foundation
import Locks

/// The ended sessions, each stored until its last token has expired.
final class RevokedSessions: Sendable {
    private struct State {
        var until: [String: Date] = [:]
        /// The expiry of revoked session tokens, by the token's hash.
        var tokensUntil: [String: Date] = [:]
        var nextSweep = Date.distantPast
        var observers: [@Sendable (String) -> Void] = []
    }

    private let state = Lock(State())

    func contains(_ session: String) -> Bool {
        state.withLock { $0.until[session] != nil }
    }

    /// Returns whether the session of a session token has ended, by the token's hash.
    func contains(tokenHash: String) -> Bool {
        state.withLock { $0.tokensUntil[tokenHash] != nil }
    }

    func observe(_ observer: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Adds the revocations of a page; known ones have no effect.
    func add(_ revocations: [Revocation], now: Date) {
        let (added, observers) = state.withLock { state in
            let added = revocations.filter { $0.until > now && state.until[$0.sessionId] == nil }
            for revocation in added {
                state.until[revocation.sessionId] = revocation.until
                if let hash = revocation.tokenHash { state.tokensUntil[hash] = revocation.until }
            }
            if now >= state.nextSweep {
                state.until = state.until.filter { $0.value > now }
                state.tokensUntil = state.tokensUntil.filter { $0.value > now }
                state.nextSweep = now.addingTimeInterval(60)
            }
            return (added, state.observers)
        }
        for revocation in added {
            for observer in observers { observer(revocation.sessionId) }
        }
    }
}
