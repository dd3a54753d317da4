package import HTTPTypes

package protocol SignedInUser: Sendable {
    var token: String { get }
    var service: TestService { get }
}

extension SignedInUser {
    /// Sends a request with the user's token.
    package func ask(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        try await service.send(method, path, token: token, body: body, headers: headers)
    }
}
