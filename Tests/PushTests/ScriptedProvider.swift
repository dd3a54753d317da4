import Foundation
import PushProviders
import Synchronization

@testable import PushServer

/// A fake provider that replies as the test scripts, and records what it was sent.
final class ScriptedProvider: PushProvider, ProviderDirectory {
    struct Sent: Sendable {
        let message: PushMessage
        let target: PushTarget

        var token: String { target.token }
    }

    private struct State {
        var sent: [Sent] = []
        var script: @Sendable (PushMessage, PushTarget) -> PushReply? = { _, _ in nil }
        var isSuspended: @Sendable (PushTarget) -> Bool = { _ in false }
        var waiting: [CheckedContinuation<Void, Never>] = []
        var hasCredentials = true
    }

    private let state = Mutex(State())

    var sent: [Sent] { state.withLock { $0.sent } }

    /// Returns the titles that were sent to a token, in order.
    func titles(to token: String) -> [String] {
        sent.filter { $0.token == token }.map { $0.message.title ?? "" }
    }

    /// The number of messages that repeat an earlier message's ID.
    var duplicates: Int { sent.count - Set(sent.map(\.message.id)).count }

    /// Sets the script of the replies, which accepts a message by returning nil.
    func reply(_ script: @escaping @Sendable (PushMessage, PushTarget) -> PushReply?) {
        state.withLock { $0.script = script }
    }

    /// Suspends the replies for matching targets until `resume`.
    func suspend(_ isSuspended: @escaping @Sendable (PushTarget) -> Bool) {
        state.withLock { $0.isSuspended = isSuspended }
    }

    /// Replies to all suspended sends as the script says.
    func resume() {
        let waiting = state.withLock { state in
            state.isSuspended = { _ in false }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    var waiting: Int { state.withLock { $0.waiting.count } }

    func removeCredentials() { state.withLock { $0.hasCredentials = false } }

    func restoreCredentials() { state.withLock { $0.hasCredentials = true } }

    func provider(_ kind: ProviderKind, of application: String) async throws -> (any PushProvider)? {
        state.withLock { $0.hasCredentials } ? self : nil
    }

    func send(_ message: PushMessage, to target: PushTarget) async -> PushReply {
        let isSuspended = state.withLock { state in
            state.sent.append(Sent(message: message, target: target))
            return state.isSuspended(target)
        }
        if isSuspended { await withCheckedContinuation { wait(on: $0, for: target) } }
        let script = state.withLock { $0.script }
        return script(message, target) ?? PushReply(.accepted, status: 200, receipt: message.id.uuidString)
    }

    private func wait(on continuation: CheckedContinuation<Void, Never>, for target: PushTarget) {
        let isSuspended = state.withLock { state in
            // `resume` may have been called in between, and is not called again.
            guard state.isSuspended(target) else { return false }
            state.waiting.append(continuation)
            return true
        }
        if !isSuspended { continuation.resume() }
    }

    func shutdown() async {}
}

extension PushTarget {
    var token: String {
        switch self {
        case .apns(let token, _), .fcm(let token), .web(let token, _, _): token
        }
    }
}
