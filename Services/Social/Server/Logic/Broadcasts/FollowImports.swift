import Foundation
import Logging
import Postgres
import PushAPI
import SocialAPI
import Wire

/// Adds the Reddit users that a user follows to the user's favourites: on request, and once a day in the background.
///
/// Push stores the favourites and the favourites that the user has removed. An import does not add removed favourites
/// again, and changes no settings.
struct FollowImports: Sendable {
    /// The time between background imports of a user, in seconds.
    private static let interval: TimeInterval = 86_400
    /// The time until the next attempt after a failure, in seconds.
    private static let pauseAfterFailure: TimeInterval = 3_600
    private static let batch = 10
    /// The maximum number of pages to read, each with up to 100 users and communities.
    private static let pages = 50

    let sources: Sources
    let networkGateway: NetworkGateway
    let push: SubscriptionsClient
    let database: PostgresPool
    let logger: Logger
    let now: @Sendable () -> Date

    /// - Throws: `not_linked` if Reddit is not linked; the errors of Reddit and push.
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

    /// Runs the imports that are due, in batches.
    func runDue() async throws {
        let store = FollowImportStore(db: database)
        while !Task.isCancelled {
            let time = now()
            // If an import fails or this instance crashes during it, the import is due again at this time.
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
            logger.notice("import of follows failed", metadata: ["error": "\(error)"])
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
            // A page without users can still have a next page.
            guard let next = found.next, next != cursor else { break }
            cursor = next
        }
        return people
    }

    private func call(_ source: inout Source, _ page: PageRequest) async throws -> FollowsPage {
        do {
            return try await networkGateway.call(&source, within: .seconds(10)) { connector, account in
                guard let connector = connector as? any FollowsConnector else {
                    throw NetworkError.unsupported(
                        "\(connector.network.rawValue) does not list the users that an account follows"
                    )
                }
                return try await connector.follows(page, as: account)
            }
        } catch let error as NetworkError {
            throw error.apiError
        }
    }
}

extension NetworkError {
    /// The API error for a request that concerns this network alone.
    fileprivate var apiError: APIError {
        switch kind {
        case .auth, .permission:
            APIError(.unprocessable, "reauthenticate", "the Reddit account must be linked again: \(reason)")
        case .unsupported, .invalid, .notFound: APIError(.unprocessable, "unsupported", reason)
        case .rateLimited, .transient, .unknownOutcome: APIError.unavailable("Reddit")
        }
    }
}
