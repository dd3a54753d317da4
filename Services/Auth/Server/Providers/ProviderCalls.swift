import Logging
import Wire

/// Asks one provider for something on behalf of somebody who waits.
struct ProviderCalls: Sendable {
    let name: String
    let http: ProviderHTTP
    let logger: Logger

    /// - Throws: a 503 where there is no answer.
    func get(_ url: String, bearer: String? = nil) async throws -> ProviderResponse {
        try await mappingErrors { try await http.get(url, bearer: bearer) }
    }

    /// Sends a form; `basic` is a name and a password.
    ///
    /// - Throws: a 503 where there is no answer.
    func post(
        _ url: String,
        _ form: KeyValuePairs<String, String?>,
        basic: (name: String, password: String)? = nil
    ) async throws -> ProviderResponse {
        try await mappingErrors { try await http.post(url, form, basic: basic) }
    }

    /// What somebody is told whom nothing can be done for; the log has why.
    func unavailable(_ reason: String) -> APIError {
        logger.warning("identity provider failed", metadata: ["provider": "\(name)", "error": "\(reason)"])
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
