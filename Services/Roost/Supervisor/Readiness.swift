import HTTPTypes
import ServiceClient

enum Readiness: Sendable, Equatable {
    case ready
    /// The service responds, but a dependency does not.
    case notReady(status: Int, body: String)
    case unreachable

    /// Returns whether a service responds to `/health`, with any status.
    static func isAlive(_ url: String, within limit: Duration) async -> Bool {
        var request = ServiceRequest(method: .get, path: "/health")
        request.timeout = limit
        // An error means that the service does not respond.
        return (try? await HTTPTransport(baseURLs: [url]).send(request)) != nil
    }

    static func of(_ url: String, within limit: Duration = .seconds(2)) async -> Readiness {
        var request = ServiceRequest(method: .get, path: "/ready")
        request.timeout = limit
        do {
            let response = try await HTTPTransport(baseURLs: [url]).send(request)
            guard response.status != 200 else {
                return .ready
            }
            return .notReady(status: response.status, body: String(decoding: response.body, as: UTF8.self))
        } catch {
            return .unreachable
        }
    }
}
