import AuthAPI
import Foundation
import HTTPTypes
import ServiceClient
import Synchronization
import TestSupport
import Wire

/// A fake of auth with signing keys and the names of Roost's accounts.
struct FakeAuth: Sendable {
    let keys = TestKeys()
    /// The names of Roost's accounts, by userId.
    let names = SharedValue<[String: String]>([:])
    /// Users of customers' applications who have a session.
    let customers = SharedValue<Set<String>>([])
    let isUnavailable = SharedValue(false)
    /// The number of requests for users.
    let lookups = SharedValue(0)

    var client: ServiceClient {
        let (names, customers, isUnavailable, lookups) = (names, customers, isUnavailable, lookups)
        let transport = AuthTransport(keys) { request in
            guard !isUnavailable.value else { throw TransportFailure.notSent }
            lookups.change { $0 += 1 }
            let asked = request.path.split(separator: "?").last?.split(separator: "&") ?? []
            let known = names.value
            let isRoostUser = !asked.contains { $0.hasPrefix("application=") }
            let ids = asked.filter { $0.hasPrefix("userId=") }.compactMap { $0.dropFirst(7).removingPercentEncoding }
            let found = ids.compactMap { id -> UserSummary? in
                if isRoostUser { return known[id].map { UserSummary(userId: id, username: nil, fullName: $0) } }
                return customers.value.contains(id) ? UserSummary(userId: id, username: nil, fullName: nil) : nil
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

/// A value that the tasks of a test share.
final class SharedValue<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}
