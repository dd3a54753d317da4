package import HTTPTypes
import Wire

/// What a request proves itself by, before it is verified.
///
/// `Authorization` says who asks where `x-diuit-session-token` is there too. Either may hold a jwt or a session's token.
package enum Credential: Hashable, Sendable {
    case bearer(String)
    /// `x-diuit-session-token`.
    case session(String)

    /// No credential of any kind is longer, in bytes.
    private static let maximumLength = 4_096

    /// Whether a text may be a credential: printable ASCII, at most 4,096 bytes.
    ///
    /// Any other text is rejected before it is a key of a dictionary: hashing or splitting a text of combining marks
    /// takes the square of its length.
    static func isReadable(_ text: String) -> Bool {
        text.utf8.count <= maximumLength && text.isPrintableASCII
    }

    /// The credential of a request; nil where it has none.
    ///
    /// - Throws: `APIError` of kind `forbidden` for two of a kind, and for an `Authorization` of another scheme or one
    ///   that is too long.
    package init?(_ headers: HTTPFields) throws {
        let authorization = headers[values: .authorization]
        let session = headers[values: .diuitSession]
        guard authorization.count <= 1, session.count <= 1 else {
            throw APIError(.forbidden, "invalid_token", "a request has one credential")
        }
        if let value = authorization.first {
            guard value.utf8.count <= Self.maximumLength + "Bearer ".utf8.count, !value.hasTooManyMarks else {
                throw APIError.invalidToken
            }
            let parts = value.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer", !parts[1].isEmpty else {
                throw APIError(
                    .forbidden,
                    "invalid_token",
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
    /// - Throws: as `identify(_:allowingServer:)`; `forbidden` without a credential.
    package func identity(of headers: HTTPFields, allowingServer: Bool = false) async throws -> Identity {
        switch try Credential(headers) {
        case .bearer(let token), .session(let token): return try await identify(token, allowingServer: allowingServer)
        case nil: throw APIError(.forbidden, "authentication_required", "a credential is needed")
        }
    }
}
