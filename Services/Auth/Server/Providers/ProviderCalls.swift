import Logging
import Wire

/// The requests to one provider while a user waits for the response.
struct ProviderCalls: Sendable {
    let name: String
    let http: ProviderHTTP
    let logger: Logger

    /// - Throws: a 503 if the provider does not respond.
    func get(_ url: String, bearer: String? = nil) async throws -> ProviderResponse {
        try await mappingErrors { try await http.get(url, bearer: bearer) }
    }

    /// Sends a form; `basic` is a name and a password.
    ///
    /// - Throws: a 503 if the provider does not respond.
    func post(
        _ url: String,
        _ form: KeyValuePairs<String, String?>,
        basic: (name: String, password: String)? = nil
    ) async throws -> ProviderResponse {
        try await mappingErrors { try await http.post(url, form, basic: basic) }
    }

    /// Logs the reason, and returns the error for the client, which does not contain it.
    func unavailable(_ reason: String) -> APIError {
        logger.warning("identity provider request failed", metadata: ["provider": "\(name)", "error": "\(reason)"])
        return APIError.unavailable(name, retryAfter: 5)
    }

    private func mappingErrors(_ operation: () async throws -> ProviderResponse) async throws -> ProviderResponse {
        do {
            return try await operation()
        } catch let error as ProviderError {
            throw unavailable(error.description)
        }
    }
}
