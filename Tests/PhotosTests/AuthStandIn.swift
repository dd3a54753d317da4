import AuthAPI
import Foundation
import HTTPTypes
import ServiceClient
import Synchronization
import TestSupport
import Wire

/// Auth as photos sees it: keys, and what Roost's own accounts are called.
struct AuthStandIn: Sendable {
    let keys = TestKeys()
    /// The users that auth knows, by userId; an empty name is none.
    let names = Shared<[String: String]>([:])
    let isAway = Shared(false)
    /// How often users were asked about.
    let lookups = Shared(0)

    var client: ServiceClient {
        let (names, isAway, lookups) = (names, isAway, lookups)
        let transport = AuthTransport(keys) { request in
            guard !isAway.value else { throw TransportFailure.notSent }
            lookups.change { $0 += 1 }
            let asked = request.path.split(separator: "?").last?.split(separator: "&") ?? []
            let known = names.value
            let ids = asked.filter { $0.hasPrefix("userId=") }.compactMap { $0.dropFirst(7).removingPercentEncoding }
            let found = ids.compactMap { id in
                known[id].map { UserSummary(userId: id, username: nil, fullName: $0.isEmpty ? nil : $0) }
            }
            return ServiceResponse(
                status: 200,
                headers: [.contentType: "application/json"],
                body: try WireJSON.encoder().encode(Page(found))
            )
        }
        return ServiceClient(callee: "auth", transport: transport, retry: .never)
    }
}

/// A value that tasks of a test share.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}
