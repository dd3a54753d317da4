package import Configuration
import Locks
package import ServiceClient
import ServiceHost

/// The gateway's transport to auth, whose instances may change at a reload.
package final class ReloadableTransport: Transport, Reloadable {
    private let current: Lock<HTTPTransport>

    /// Creates a transport to the instances of auth.
    ///
    /// - Parameter settings: contain the instances as `AUTH_URL`.
    /// - Throws: an error when `AUTH_URL` is invalid.
    package init(settings: ConfigReader) throws {
        current = Lock(try Self.transport(settings))
    }

    private static func transport(_ settings: ConfigReader) throws -> HTTPTransport {
        HTTPTransport(baseURLs: try settings.baseURLs("AUTH_URL", default: "http://127.0.0.1:8081"))
    }

    package var name: String { "the gateway's transport to auth" }

    package func reload(_ settings: ConfigReader) throws {
        let transport = try Self.transport(settings)
        current.withLock { $0 = transport }
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        try await current.withLock { $0 }.send(request)
    }
}
