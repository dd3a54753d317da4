import Logging
import Wire

/// Asks one provider for something on behalf of somebody who waits.
struct ProviderCalls: Sendable {
    let name: String
    let http: ProviderHTTP
    let logger: Logger

    /// - Throws: a 503 where there is no answer.
    func get(_ url: String, bearer: String? = nil) async throws -> ProviderAnswer {
        try await telling { try await http.get(url, bearer: bearer) }
    }

    /// Sends a form; `basic` is a name and a password.
    ///
    /// - Throws: a 503 where there is no answer.
    func post(
        _ url: String,
        _ form: KeyValuePairs<String, String?>,
        basic: (name: String, password: String)? = nil
    ) async throws -> ProviderAnswer {
        try await telling { try await http.post(url, form, basic: basic) }
    }

    /// What somebody is told whom nothing can be done for; the log has why.
    func unavailable(_ why: String) -> APIError {
        logger.warning("identity provider failed", metadata: ["provider": "\(name)", "error": "\(why)"])
        return APIError.unavailable(name, retryAfter: 5)
    }

    private func telling(_ ask: () async throws -> ProviderAnswer) async throws -> ProviderAnswer {
        do {
            return try await ask()
        } catch let flaw as ProviderFlaw {
            throw unavailable(flaw.description)
        }
    }
}
