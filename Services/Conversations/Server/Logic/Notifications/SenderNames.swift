import AuthAPI
import Foundation
import Locks
import Logging
import Wire

/// What people are called on others' screens.
///
/// The name that somebody says of himself (`meta.name`) comes first. Of Roost's own accounts auth knows more, and is asked
/// now and then; in a customer's application there is the name that its account server chose. Nobody waits long for a name:
/// a notification without one is better than one that comes too late.
final class SenderNames: Sendable {
    private struct Known: Sendable {
        var name: String?
        var until: ContinuousClock.Instant
    }

    private struct State {
        var known: [String: Known] = [:]
        /// Auth did not answer: it is not asked until then.
        var silence: ContinuousClock.Instant?
    }

    private static let cacheLifetime = Duration.seconds(300)
    private static let silence = Duration.seconds(5)
    private static let capacity = 20_000
    private static let maximumLength = 100

    private let auth: AuthClient
    private let logger: Logger
    private let state = Lock(State())

    init(auth: AuthClient, logger: Logger) {
        self.auth = auth
        self.logger = logger
    }

    /// Finds out what those are called whom only auth can name.
    func load(_ senders: [(application: String, message: NotableMessage)]) async {
        let now = ContinuousClock.now
        let missing = state.withLock { state -> Set<String> in
            guard state.silence.map({ $0 <= now }) ?? true else { return [] }
            return Set(
                senders.filter { sender in
                    sender.application == RoostApplication.id && Self.ownName(sender.message) == nil
                        && state.known[sender.message.sender].map { $0.until <= now } ?? true
                }.map(\.message.sender)
            )
        }
        guard !missing.isEmpty else { return }
        do {
            let found = try await auth.users(missing)
            let names = Dictionary(found.map { ($0.userId, $0.fullName ?? $0.username) }) { first, _ in first }
            state.withLock { state in
                if state.known.count + missing.count > Self.capacity { state.known = [:] }
                for user in missing {
                    state.known[user] = Known(name: names[user] ?? nil, until: now + Self.cacheLifetime)
                }
            }
        } catch {
            state.withLock { $0.silence = .now + Self.silence }
            logger.warning("names of senders are not known", metadata: ["error": "\(error)"])
        }
    }

    /// Nil: nothing that a person would know somebody by.
    func name(of message: NotableMessage, in application: String) -> String? {
        let name =
            Self.ownName(message)
            ?? (application == RoostApplication.id
                ? state.withLock { $0.known[message.sender]?.name } : message.sender)
        return name.map { String($0.unicodeScalars.prefix(Self.maximumLength)) }
    }

    private static func ownName(_ message: NotableMessage) -> String? {
        guard let meta = message.senderMeta, case .object(let fields) = JSONValue(compact: meta),
            case .string(let name) = fields["name"], !name.allSatisfy(\.isWhitespace)
        else { return nil }
        return name
    }
}
