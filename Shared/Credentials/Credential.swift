package import HTTPTypes
import Wire

/// The credential of a request, before its verification.
///
/// `Authorization` takes precedence over `x-diuit-session-token`. Each of them may contain a jwt or a session's token.
package enum Credential: Hashable, Sendable {
    case bearer(String)
    /// The value of `x-diuit-session-token`.
    case session(String)

    /// The maximum length of all credentials in bytes.
    private static let maximumLength = 4_096

    /// Returns whether a text can be a credential: printable ASCII, at most 4,096 bytes.
    ///
    /// Other texts are rejected before they become dictionary keys: hashing or splitting a text of combining marks
    /// takes quadratic time.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether the text can be a credential.
    static func isReadable(_ text: String) -> Bool {
        text.utf8.count <= maximumLength && text.isPrintableASCII
    }

    /// Reads the credential of a request, or returns nil if there is none.
    ///
    /// - Throws: `invalid_token` for repeated credentials of one kind, and for an `Authorization` with another scheme
    ///   or too many bytes.
    package init?(_ headers: HTTPFields) throws {
        let authorization = headers[values: .authorization]
        let session = headers[values: .diuitSession]
        guard authorization.count <= 1, session.count <= 1 else {
            throw APIError(.forbidden, "invalid_token", "a request must have exactly one credential")
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
                    "the Authorization header must have the form \"Bearer <jwt>\""
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
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let diuitSession = HTTPField.Name("x-diuit-session-token")!
}

extension CredentialVerifier {
    /// Returns the identity of a request.
    ///
    /// - Throws: the errors of `identify(_:allowingServer:)`, and `authentication_required` without a credential.
    package func identity(of headers: HTTPFields, allowingServer: Bool = false) async throws -> Identity {
        switch try Credential(headers) {
        case .bearer(let token), .session(let token): return try await identify(token, allowingServer: allowingServer)
        case nil: throw APIError(.forbidden, "authentication_required", "the request requires a credential")
        }
    }
}
