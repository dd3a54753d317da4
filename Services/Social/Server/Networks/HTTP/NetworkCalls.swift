import Foundation
import Wire

/// Asks one network, and makes errors of its refusals.
struct NetworkCalls: Sendable {
    private(set) var http: any NetworkHTTP
    let now: @Sendable () -> Date
    let errorMapping: NetworkErrorMapping

    init(_ parts: ConnectorParts, _ errorMapping: NetworkErrorMapping) {
        http = parts.http
        now = parts.now
        self.errorMapping = errorMapping
    }

    /// The same, asked in another way.
    func over(_ http: any NetworkHTTP) -> NetworkCalls {
        var calls = self
        calls.http = http
        return calls
    }

    /// A success, whatever its body is; anything else is a `NetworkError`.
    ///
    /// `isWrite` says that people see what it does: then its outcome may be unknown. What is only prepared is done again.
    func send(_ request: NetworkRequest, isWrite: Bool = false) async throws -> ParsedResponse {
        let response: NetworkResponse
        do {
            response = try await http.send(request)
        } catch let failure as NetworkHTTPFailure {
            throw failure.error(isWrite: isWrite)
        }
        var answer = ParsedResponse(response)
        answer.budget = errorMapping.budget(answer, now())
        let mappedError = errorMapping.mappedError(answer)
        if var mappedError = mappedError ?? (answer.isSuccess ? nil : .by(status: answer.status, isWrite: isWrite)) {
            // Who stumbles over a post, and says so in his own words, may have made it all the same.
            if isWrite, mappedError.kind == .transient { mappedError.kind = .unknownOutcome }
            throw NetworkError(mappedError, of: answer, now: now())
        }
        return answer
    }

    /// The JSON of a success, with what it said of limits.
    func json(_ request: NetworkRequest, isWrite: Bool = false) async throws -> (json: JSONValue, budget: Budget?) {
        let answer = try await send(request, isWrite: isWrite)
        guard let json = answer.json else {
            throw NetworkError(
                isWrite ? .unknownOutcome : .transient,
                "the network's answer could not be read",
                code: String(answer.status),
                budget: answer.budget
            )
        }
        return (json, answer.budget)
    }
}

extension JSONValue {
    /// What a write is known by afterwards; without it nobody knows what was done.
    func createdID(_ path: String...) throws -> String {
        var value: JSONValue? = self
        for name in path { value = value?[name] }
        guard let id = value?.identifier else {
            throw NetworkError(.unknownOutcome, "the network's answer does not say what was made")
        }
        return id
    }
}
