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
    /// By userId.
    let names = Shared<[String: String]>([:])
    let isAway = Shared(false)

    var client: ServiceClient {
        let (names, isAway) = (names, isAway)
        let transport = AuthTransport(keys) { request in
            guard !isAway.value else { throw TransportFailure.notSent }
            let asked = request.path.split(separator: "?").last?.split(separator: "&") ?? []
            let known = names.value
            let found = asked.compactMap { $0.split(separator: "=").last.map(String.init) }
                .compactMap { id in known[id].map { UserSummary(userId: id, username: nil, fullName: $0) } }
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
