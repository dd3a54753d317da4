import Foundation
import HTTPTypes
import PushAPI
import ServiceClient
import Synchronization
import TestSupport
import Wire

/// A fake of push that records requests, with favourites that a test sets.
final class FakeFavourites: Transport {
    private struct State {
        var favourites: Set<String> = []
        var isUnavailable = false
        var events: [BroadcastLive] = []
        var imports: [SubscriptionImport] = []
        /// The credentials of the requests.
        var credentials: Set<String> = []
    }

    private let state = Mutex(State())

    var events: [BroadcastLive] { state.withLock { $0.events } }
    var imports: [SubscriptionImport] { state.withLock { $0.imports } }
    var credentials: Set<String> { state.withLock { $0.credentials } }

    func setFavourites(_ names: Set<String>) { state.withLock { $0.favourites = names } }
    func goOffline() { state.withLock { $0.isUnavailable = true } }

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard !state.withLock({ $0.isUnavailable }) else { throw TransportFailure.notSent }
        let path = String(request.path.prefix { $0 != "?" })
        let body = request.body ?? Data()
        switch path {
        case "/internal/events":
            let event = try WireJSON.decoder().decode(Event.self, from: body)
            let live = try event.content(as: BroadcastLive.self)
            state.withLock { $0.events.append(live) }
            return ServiceResponse(status: 204)
        case "/internal/subscriptions/import":
            let found = try WireJSON.decoder().decode(SubscriptionImport.self, from: body)
            let added = state.withLock { state in
                state.imports.append(found)
                let names = found.broadcasters.map(\.name).filter { !state.favourites.contains($0) }
                state.favourites.formUnion(names)
                return names
            }
            return try answer(ImportedSubscriptions(added: added))
        case "/subscriptions":
            record(request)
            let favourites = state.withLock { $0.favourites.sorted() }
            // Each page has one item, so that the service must read all pages.
            let start = request.path.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) } ?? 0
            let items = favourites.dropFirst(start).prefix(1).map { Subscription(broadcaster: $0) }
            return try answer(Page(items, next: start + 1 < favourites.count ? "\(start + 1)" : nil))
        default:
            record(request)
            let name = String(path.split(separator: "/").last ?? "")
            guard state.withLock({ $0.favourites.contains(name) }) else {
                let problem = Problem(APIError(.notFound, "not_a_favourite", "not a favourite"), requestID: nil)
                return ServiceResponse(status: 404, body: Data(problem.encoded()))
            }
            return try answer(Subscription(broadcaster: name))
        }
    }

    private func record(_ request: ServiceRequest) {
        state.withLock { _ = $0.credentials.insert(request.headers[.authorization] ?? "") }
    }

    private func answer(_ value: some Encodable) throws -> ServiceResponse {
        ServiceResponse(status: 200, body: try WireJSON.encoder().encode(value))
    }
}
