import AuthAPI
import ConversationsAPI
import Foundation
import Locks
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The names and pictures that conversations show beside their members.
///
/// They are a copy of what auth and photos publish. Auth is asked once about accounts of Roost's own without a copy. A
/// failure leaves names out; it never fails the request.
final class MemberProfiles: Sendable {
    /// Profiles beside one conversation, in the order of its members.
    private static let perConversation = 100
    /// Profiles in one answer, and accounts that auth is asked about for one answer.
    private static let perResponse = 5_000
    private static let perRequest = 500
    /// How long an answer waits for auth, and how long auth is not asked after a failure.
    private static let authTimeout = Duration.seconds(1)
    private static let retryDelay = Duration.seconds(5)
    /// The longest name that is copied, in Unicode scalars; as in photos.
    private static let maximumName = 100

    private let database: PostgresPool
    private let auth: AuthClient
    private let publicURL: String
    private let logger: Logger
    private let retryAt = Lock<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - database: has the copy.
    ///   - auth: knows the accounts of Roost's own.
    ///   - publicURL: the address of the suite, without a slash at the end.
    ///   - logger: gets the failures.
    init(database: PostgresPool, auth: AuthClient, publicURL: String, logger: Logger) {
        self.database = database
        self.auth = auth
        self.publicURL = publicURL
        self.logger = logger
    }

    func adding(to conversation: Conversation, of application: String) async -> Conversation {
        await adding(to: [conversation], of: application)[0]
    }

    /// Adds the profiles of the members shown, with one statement for all conversations; `asksAuth` says whether auth is
    /// asked about accounts without a copy.
    func adding(
        to conversations: [Conversation],
        of application: String,
        asksAuth: Bool = true
    ) async -> [Conversation] {
        guard !conversations.isEmpty else { return [] }
        do {
            let shown = conversations.flatMap { ($0.members ?? []).prefix(Self.perConversation) }
            let known = try await profiles(of: shown, in: application, asksAuth: asksAuth)
            return conversations.map { conversation in
                var conversation = conversation
                var profiles: [String: Conversation.Profile] = [:]
                for member in (conversation.members ?? []).prefix(Self.perConversation) {
                    profiles[member] = known[User.ID(application: application, user: member)]
                }
                conversation.profiles = profiles
                return conversation
            }
        } catch {
            logger.warning("profiles of members cannot be read", metadata: ["error": "\(error)"])
            return conversations
        }
    }

    private func profiles(
        of users: [String],
        in application: String,
        asksAuth: Bool
    ) async throws -> [User.ID: Conversation.Profile] {
        let asked = Set(users.map { User.ID(application: application, user: $0) }).prefix(Self.perResponse)
        guard !asked.isEmpty else { return [:] }
        var known: [User.ID: Conversation.Profile] = [:]
        let stored = try await ProfileStore(db: database.reads).find(asked.map(\.user), of: application)
        for profile in stored {
            let user = User.ID(application: application, user: profile.user)
            known[user] = Conversation.Profile(
                fullName: profile.name ?? Self.defaultName(user),
                avatarUrl: profile.avatarPath.map { publicURL + $0 }
            )
        }
        let missing = asked.filter { known[$0] == nil }
        guard application == RoostApplication.id else {
            for user in missing { known[user] = Conversation.Profile(fullName: Self.defaultName(user)) }
            return known
        }
        guard asksAuth else { return known }
        for (user, name) in await names(of: missing.prefix(Self.perRequest).map(\.user)) {
            known[User.ID(application: application, user: user)] = Conversation.Profile(fullName: name ?? "")
        }
        return known
    }

    /// Asks auth about accounts, and keeps the answer; none while auth does not answer.
    private func names(of users: [String]) async -> [(user: String, name: String?)] {
        let now = ContinuousClock.now
        guard !users.isEmpty, retryAt.withLock({ $0.map { $0 <= now } ?? true }) else { return [] }
        do {
            let found = try await within(Self.authTimeout) { [auth] in try await auth.users(users) }
            let names = Dictionary(found.map { ($0.userId, $0.fullName ?? $0.username) }) { first, _ in first }
            let answered = users.map { (user: $0, name: (names[$0] ?? nil).map(Self.truncated)) }
            try await ProfileStore(db: database).insertMissing(answered, of: RoostApplication.id)
            return answered
        } catch {
            retryAt.withLock { $0 = .now + Self.retryDelay }
            logger.warning("names of members are not known", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// A customer's account server chose the id, which stands for the name; Roost's own ids are UUIDs.
    private static func defaultName(_ user: User.ID) -> String { user.isRoostUser ? "" : user.user }

    fileprivate static func truncated(_ name: String) -> String {
        String(name.unicodeScalars.prefix(maximumName))
    }
}

// Events that change the copy.
extension MemberProfiles {
    static func handlingEvents(of consumer: EventConsumer) -> EventConsumer {
        consumer
            .on(UserChanged.self, from: [.auth]) { changed, event, db in
                // A change of the language alone must not replace a name that the user set in photos.
                guard changed.changesNames else { return }
                let user = User.ID(application: changed.applicationId, user: changed.userId)
                let name = (changed.fullName ?? changed.username).map(truncated)
                try await ProfileStore(db: db).set(name: name, of: user, at: event.at)
            }
            .on(ProfileChanged.self, from: [.photos]) { changed, event, db in
                let user = User.ID(application: changed.applicationId, user: changed.userId)
                try await ProfileStore(db: db).set(name: truncated(changed.fullName), of: user, at: event.at)
                try await ProfileStore(db: db).set(avatarPath: changed.avatarPath, of: user, at: event.at)
            }
    }
}
