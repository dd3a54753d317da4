package import Configuration
import Locks
package import ServiceClient
import ServiceHost

/// The gateway's own way to auth, whose instances may be elsewhere after a reload.
package final class ReloadableTransport: Transport, Reloadable {
    private let current: Lock<HTTPTransport>

    /// - Parameter settings: say where auth is, by `AUTH_URL`.
    /// - Throws: where they make no sense.
    package init(settings: ConfigReader) throws {
        current = Lock(try Self.transport(settings))
    }

    private static func transport(_ settings: ConfigReader) throws -> HTTPTransport {
        HTTPTransport(baseURLs: try settings.baseURLs("AUTH_URL", default: "http://127.0.0.1:8081"))
    }

    package var name: String { "the gateway's own calls to auth" }

    package func reload(_ settings: ConfigReader) throws {
        let transport = try Self.transport(settings)
        current.withLock { $0 = transport }
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        try await current.withLock { $0 }.send(request)
    }
}
