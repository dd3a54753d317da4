import HTTPTypes
import ServiceClient

/// What a service says of itself.
enum Readiness: Sendable, Equatable {
    case ready
    /// It answers, but something that it needs does not.
    case notReady(status: Int, body: String)
    case unreachable

    /// Whether a service at a base URL answers `/health` at all, with whatever status.
    static func isAlive(_ url: String, within limit: Duration) async -> Bool {
        var request = ServiceRequest(method: .get, path: "/health")
        request.timeout = limit
        // Silence: that there is no answer is the answer.
        return (try? await HTTPTransport(baseURLs: [url]).send(request)) != nil
    }

    /// Asks a service at a base URL.
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
