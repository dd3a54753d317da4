import Foundation
import Logging
import Postgres
import PushAPI
import SocialAPI
import Wire

/// Makes favourites of those whom somebody follows on Reddit: at his word, and once a day by itself.
///
/// Push keeps favourites, and whom somebody has removed: those do not come back, and no setting is touched.
struct FollowImports: Sendable {
    /// From one look to the next by itself, in seconds.
    private static let interval: TimeInterval = 86_400
    /// The same after one that failed.
    private static let pauseAfterFailure: TimeInterval = 3_600
    private static let batch = 10
    /// Pages that are read at most: of a hundred, people and communities.
    private static let pages = 50

    let sources: Sources
    let networkGateway: NetworkGateway
    let push: SubscriptionsClient
    let database: PostgresPool
    let logger: Logger
    let now: @Sendable () -> Date

    /// - Throws: `notFound` where Reddit is not linked; what Reddit or push cannot do.
    func run(for caller: Caller) async throws -> FollowImport {
        let found = try await follows(of: caller)
        var added: [String] = []
        var rest = found[...]
        while !rest.isEmpty {
            added += try await push.add(Array(rest.prefix(SubscriptionImport.maximum)), to: caller.user).added
            rest = rest.dropFirst(SubscriptionImport.maximum)
        }
        try await FollowImportStore(db: database).postpone(caller.user, until: now() + Self.interval)
        return FollowImport(found: found.count, added: added)
    }

    /// Does it for some of those whose turn it is.
    func runDue() async throws {
        let store = FollowImportStore(db: database)
        while !Task.isCancelled {
            let time = now()
            // If this instance is gone before it is done, it is somebody's turn again as after a failure.
            let next = time.addingTimeInterval(Self.pauseAfterFailure)
            let due = try await store.claim(limit: Self.batch, at: time, next: next)
            guard !due.isEmpty else { return }
            await withTaskGroup(of: Void.self) { group in
                for user in due { group.addTask { await runImport(for: user) } }
            }
        }
    }

    private func runImport(for user: User.ID) async {
        do {
            _ = try await run(for: Caller(user: user))
        } catch {
            logger.notice("follows not imported", metadata: ["error": "\(error)"])
        }
    }

    private func follows(of caller: Caller) async throws -> [SubscriptionImport.Broadcaster] {
        var source = try await sources.require(.reddit, for: caller)
        var people: [SubscriptionImport.Broadcaster] = []
        var names: Set<String> = []
        var cursor: NetworkCursor?
        for _ in 0..<Self.pages {
            let page = PageRequest(cursor: cursor, limit: 100)
            let found = try await call(&source, page)
            for person in found.people where names.insert(NameFolding.fold(person.username)).inserted {
                people.append(.init(name: person.username, iconUrl: person.iconUrl))
            }
            // A page may have no people on it and a next.
            guard let next = found.next, next != cursor else { break }
            cursor = next
        }
        return people
    }

    private func call(_ source: inout Source, _ page: PageRequest) async throws -> FollowsPage {
        do {
            return try await networkGateway.call(&source, within: .seconds(10)) { connector, account in
                guard let connector = connector as? any FollowsConnector else {
                    throw NetworkError.unsupported("\(connector.network.rawValue) does not say whom one follows")
                }
                return try await connector.follows(page, as: account)
            }
        } catch let error as NetworkError {
            throw error.apiError
        }
    }
}

extension NetworkError {
    /// What somebody is told who has asked for something of this network alone.
    fileprivate var apiError: APIError {
        switch kind {
        case .auth, .permission:
            APIError(.unprocessable, "reauthenticate", "the Reddit account must be linked anew: \(reason)")
        case .unsupported, .invalid, .notFound: APIError(.unprocessable, "unsupported", reason)
        case .rateLimited, .transient, .unknownOutcome: APIError.unavailable("Reddit")
        }
    }
}
