package import ServiceClient

/// What the operator's command asks of social; the `ServiceClient` carries its service token.
package struct SocialClient: Sendable {
    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Puts all tokens of networks under the first key of `TOKEN_ENCRYPTION_KEY`.
    package func reseal() async throws -> ResealReport {
        try await service.post("/internal/social/reseal", [String: String](), timeout: .seconds(120))
    }
}
