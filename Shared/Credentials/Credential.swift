package import HTTPTypes
import Wire

/// What a request proves itself by, before it is verified.
///
/// `Authorization` says who asks where `x-diuit-session-token` is there too. Either may hold a jwt or a session's token.
package enum Credential: Hashable, Sendable {
    case bearer(String)
    /// `x-diuit-session-token`.
    case session(String)

    /// The credential of a request; nil where it has none.
    ///
    /// - Throws: `APIError` of kind `forbidden` for two of a kind, and for an `Authorization` of another scheme.
    package init?(_ headers: HTTPFields) throws {
        let authorization = headers[values: .authorization]
        let session = headers[values: .diuitSession]
        guard authorization.count <= 1, session.count <= 1 else {
            throw APIError(.forbidden, "invalid_credential", "a request has one credential")
        }
        if let value = authorization.first {
            let parts = value.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer", !parts[1].isEmpty else {
                throw APIError(
                    .forbidden,
                    "invalid_credential",
                    "the Authorization header has the form \"Bearer <jwt>\""
                )
            }
            self = .bearer(String(parts[1]))
        } else if let value = session.first {
            self = .session(value)
        } else {
            return nil
        }
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let diuitSession = HTTPField.Name("x-diuit-session-token")!
}

extension CredentialVerifier {
    /// The identity of a request.
    ///
    /// - Throws: as `identify(_:orServer:)`; `forbidden` without a credential.
    package func identity(of headers: HTTPFields, orServer: Bool = false) async throws -> Identity {
        switch try Credential(headers) {
        case .bearer(let token), .session(let token): return try await identify(token, orServer: orServer)
        case nil: throw APIError(.forbidden, "missing_credential", "a credential is needed")
        }
    }
}
