package import AsyncHTTPClient

extension HTTPClient {
    /// Runs with a client that says where it is sent, and does not go there; gone with the scope.
    package static func withoutRedirects<Value>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let value: Value
        do {
            value = try await body(client)
        } catch {
            // Silence: what went wrong before says more.
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return value
    }
}
