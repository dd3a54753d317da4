import AuthAPI
import Foundation
import Locks
import Logging
import Wire

/// The names of senders in notifications.
///
/// A name that users set themselves (`meta.name`) comes first. Names of Roost's own accounts come from auth and are
/// cached for 300 s. In a customer's application, the name is the id that its account server chose. A notification
/// without a name is better than a late one, so failures leave the name out.
final class SenderNames: Sendable {
    private struct CachedName: Sendable {
        var name: String?
        var expiresAt: ContinuousClock.Instant
    }

    private struct State {
        var cache: [String: CachedName] = [:]
        /// The time of the next request to auth after a failed one.
        var retryAt: ContinuousClock.Instant?
    }

    private static let cacheLifetime = Duration.seconds(300)
    private static let retryDelay = Duration.seconds(5)
    private static let capacity = 20_000
    private static let maximumLength = 100

    private let auth: AuthClient
    private let logger: Logger
    private let state = Lock(State())

    init(auth: AuthClient, logger: Logger) {
        self.auth = auth
        self.logger = logger
    }

    /// Loads the names that only auth knows into the cache.
    func load(_ senders: [(application: String, message: NotableMessage)]) async {
        let now = ContinuousClock.now
        let missing = state.withLock { state -> Set<String> in
            guard state.retryAt.map({ $0 <= now }) ?? true else { return [] }
            return Set(
                senders.filter { sender in
                    sender.application == RoostApplication.id && Self.ownName(sender.message) == nil
                        && state.cache[sender.message.sender].map { $0.expiresAt <= now } ?? true
                }.map(\.message.sender)
            )
        }
        guard !missing.isEmpty else { return }
        do {
            let found = try await auth.users(missing)
            let names = Dictionary(found.map { ($0.userId, $0.fullName ?? $0.username) }) { first, _ in first }
            state.withLock { state in
                if state.cache.count + missing.count > Self.capacity { state.cache = [:] }
                for user in missing {
                    state.cache[user] = CachedName(name: names[user] ?? nil, expiresAt: now + Self.cacheLifetime)
                }
            }
        } catch {
            state.withLock { $0.retryAt = .now + Self.retryDelay }
            logger.warning("cannot fetch sender names from auth", metadata: ["error": "\(error)"])
        }
    }

    /// Returns the sender's name; nil when there is none that a reader would recognize.
    func name(of message: NotableMessage, in application: String) -> String? {
        let name =
            Self.ownName(message)
            ?? (application == RoostApplication.id
                ? state.withLock { $0.cache[message.sender]?.name } : message.sender)
        return name.map { String($0.unicodeScalars.prefix(Self.maximumLength)) }
    }

    private static func ownName(_ message: NotableMessage) -> String? {
        guard let meta = message.senderMeta, case .object(let fields) = JSONValue(compact: meta),
            case .string(let name) = fields["name"], !name.allSatisfy(\.isWhitespace)
        else { return nil }
        return name
    }
}
