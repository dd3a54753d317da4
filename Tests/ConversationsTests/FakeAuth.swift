import AuthAPI
import Foundation
import HTTPTypes
import ServiceClient
import TestSupport
import Wire

/// A fake of auth with keys, accounts and names.
struct FakeAuth: Sendable {
    let keys = TestKeys()
    let accounts = SharedValue<Set<String>>([])
    /// The full names of accounts by id.
    let names = SharedValue<[String: String]>([:])
    let isAway = SharedValue(false)

    var client: ServiceClient {
        let (accounts, names, isAway) = (accounts, names, isAway)
        let transport = AuthTransport(keys) { request in
            guard !isAway.value else { throw TransportFailure.notSent }
            let asked = request.path.split(separator: "?").last?.split(separator: "&") ?? []
            let found = asked.compactMap { $0.split(separator: "=").last.map(String.init) }
                .filter { accounts.value.contains($0) }
                .map { UserSummary(userId: $0, username: nil, fullName: names.value[$0]) }
            return ServiceResponse(
                status: 200,
                headers: [.contentType: "application/json"],
                body: try WireJSON.encoder().encode(Page(found))
            )
        }
        return ServiceClient(callee: "auth", transport: transport, retry: .never)
    }

    /// An auth client for tests in which no account is looked up.
    static let unreachable = AuthClient(
        ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()), retry: .never)
    )
}
