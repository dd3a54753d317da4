import AuthAPI
import Foundation
import ServiceClient
import TestSupport
import Wire

/// Auth where nobody must be asked.
enum AuthClientOfNobody {
    static let client = AuthClient(ServiceClient(callee: "auth", transport: Away(), retry: .never))

    private struct Away: Transport {
        func send(_ request: ServiceRequest) async throws -> ServiceResponse { throw TransportFailure.notSent }
    }
}
