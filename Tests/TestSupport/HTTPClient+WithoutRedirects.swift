package import AsyncHTTPClient

extension HTTPClient {
    /// Runs `body` with a client that does not follow redirects, and shuts the client down afterwards.
    package static func withoutRedirects<Value>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let value: Value
        do {
            value = try await body(client)
        } catch {
            // The first error is more important than a failed shutdown.
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return value
    }
}
