import Foundation
import Wire

/// Sends requests to one network, and converts its error responses to `NetworkError`.
struct NetworkCalls: Sendable {
    private(set) var http: any NetworkHTTP
    let now: @Sendable () -> Date
    let errorMapping: NetworkErrorMapping

    init(_ parts: ConnectorParts, _ errorMapping: NetworkErrorMapping) {
        http = parts.http
        now = parts.now
        self.errorMapping = errorMapping
    }

    /// Returns the same calls over another HTTP client.
    func over(_ http: any NetworkHTTP) -> NetworkCalls {
        var calls = self
        calls.http = http
        return calls
    }

    /// Sends a request; returns a successful response, whatever its body is, and throws `NetworkError` otherwise.
    ///
    /// `isWrite` means that the request has a visible effect, so that its outcome can be unknown. Preparations are
    /// simply repeated.
    func send(_ request: NetworkRequest, isWrite: Bool = false) async throws -> ParsedResponse {
        let response: NetworkResponse
        do {
            response = try await http.send(request)
        } catch let failure as NetworkHTTPFailure {
            throw failure.error(isWrite: isWrite)
        }
        var parsed = ParsedResponse(response)
        parsed.budget = errorMapping.budget(parsed, now())
        let mappedError = errorMapping.mappedError(parsed)
        if var mappedError = mappedError ?? (parsed.isSuccess ? nil : .by(status: parsed.status, isWrite: isWrite)) {
            // A network that reports a temporary failure of a post may have published it all the same.
            if isWrite, mappedError.kind == .transient { mappedError.kind = .unknownOutcome }
            throw NetworkError(mappedError, of: parsed, now: now())
        }
        return parsed
    }

    /// Sends a request; returns the JSON of a successful response and its budget.
    func json(_ request: NetworkRequest, isWrite: Bool = false) async throws -> (json: JSONValue, budget: Budget?) {
        let parsed = try await send(request, isWrite: isWrite)
        guard let json = parsed.json else {
            throw NetworkError(
                isWrite ? .unknownOutcome : .transient,
                "the network's response could not be parsed",
                code: String(parsed.status),
                budget: parsed.budget
            )
        }
        return (json, parsed.budget)
    }
}

extension JSONValue {
    /// Returns the id of what a write has created; without it the outcome is unknown.
    func createdID(_ path: String...) throws -> String {
        var value: JSONValue? = self
        for name in path { value = value?[name] }
        guard let id = value?.identifier else {
            throw NetworkError(.unknownOutcome, "the network's response has no id")
        }
        return id
    }
}
