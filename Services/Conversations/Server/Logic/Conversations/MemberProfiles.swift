import AuthAPI
import ConversationsAPI
import Foundation
import Locks
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The names and pictures of members, which responses show beside conversations.
///
/// They are a copy of the data that auth and photos publish. Auth is called once for accounts of Roost's own that have
/// no copy. A failure leaves names out; it never fails the request.
final class MemberProfiles: Sendable {
    /// The maximum number of profiles beside one conversation, in the order of its members.
    private static let perConversation = 100
    /// The maximum number of profiles in one response, and of accounts requested from auth for one response.
    private static let perResponse = 5_000
    private static let perRequest = 500
    /// The timeout of a call to auth, and the pause after a failed call.
    private static let authTimeout = Duration.seconds(1)
    private static let retryDelay = Duration.seconds(5)
    /// The maximum length of a copied name, in Unicode scalars; the same as in photos.
    private static let maximumName = 100

    private let database: PostgresPool
    private let auth: AuthClient
    private let publicURL: String
    private let logger: Logger
    private let retryAt = Lock<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - database: stores the copy.
    ///   - auth: provides the accounts of Roost's own.
    ///   - publicURL: the address of the suite, without a trailing slash.
    ///   - logger: receives the failures.
    init(database: PostgresPool, auth: AuthClient, publicURL: String, logger: Logger) {
        self.database = database
        self.auth = auth
        self.publicURL = publicURL
        self.logger = logger
    }

    func adding(to conversation: Conversation, of application: String) async -> Conversation {
        await adding(to: [conversation], of: application)[0]
    }

    /// Adds the profiles of the members shown, with one statement for all conversations.
    ///
    /// `callsAuth` says whether names are requested from auth for accounts without a copy.
    func adding(
        to conversations: [Conversation],
        of application: String,
        callsAuth: Bool = true
    ) async -> [Conversation] {
        guard !conversations.isEmpty else { return [] }
        do {
            let shown = conversations.flatMap { ($0.members ?? []).prefix(Self.perConversation) }
            let profiles = try await profiles(of: shown, in: application, callsAuth: callsAuth)
            return conversations.map { conversation in
                var conversation = conversation
                var memberProfiles: [String: Conversation.Profile] = [:]
                for member in (conversation.members ?? []).prefix(Self.perConversation) {
                    memberProfiles[member] = profiles[User.ID(application: application, user: member)]
                }
                conversation.profiles = memberProfiles
                return conversation
            }
        } catch {
            logger.warning("cannot read member profiles", metadata: ["error": "\(error)"])
            return conversations
        }
    }

    private func profiles(
        of users: [String],
        in application: String,
        callsAuth: Bool
    ) async throws -> [User.ID: Conversation.Profile] {
        let requested = Set(users.map { User.ID(application: application, user: $0) }).prefix(Self.perResponse)
        guard !requested.isEmpty else { return [:] }
        var profiles: [User.ID: Conversation.Profile] = [:]
        let stored = try await ProfileStore(db: database.reads).find(requested.map(\.user), of: application)
        for profile in stored {
            let user = User.ID(application: application, user: profile.user)
            profiles[user] = Conversation.Profile(
                fullName: profile.name ?? Self.defaultName(user),
                avatarUrl: profile.avatarPath.map { publicURL + $0 }
            )
        }
        let missing = requested.filter { profiles[$0] == nil }
        guard application == RoostApplication.id else {
            for user in missing { profiles[user] = Conversation.Profile(fullName: Self.defaultName(user)) }
            return profiles
        }
        guard callsAuth else { return profiles }
        for (user, name) in await names(of: missing.prefix(Self.perRequest).map(\.user)) {
            profiles[User.ID(application: application, user: user)] = Conversation.Profile(fullName: name ?? "")
        }
        return profiles
    }

    /// Requests names from auth and stores them; returns an empty array while auth is unavailable.
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
            logger.warning("cannot fetch member names from auth", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// A customer's account server chose the id, which serves as the name; Roost's own ids are UUIDs.
    private static func defaultName(_ user: User.ID) -> String { user.isRoostUser ? "" : user.user }

    fileprivate static func truncated(_ name: String) -> String {
        String(name.unicodeScalars.prefix(maximumName))
    }
}

// The events that change the copy.
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
