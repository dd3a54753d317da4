import AuthAPI
import Wire

/// The validation of the draft's form, before any request to a provider.
extension IdentityDraft {
    /// The single proof of a draft.
    ///
    /// Apple's apps also send a code with the token.
    enum SubmittedProof: Sendable {
        case proof(IdentityProof)
        /// The code that the callback redirected with, and the verifier of the client's challenge.
        case authorization(String, verifier: String)
    }

    /// Returns the proof of the draft; `redirectURLs` are the addresses that a code may have been sent to.
    ///
    /// - Throws: a 400 for the invalid field.
    func submittedProof(redirectURLs: Set<String>) throws -> SubmittedProof {
        // Apple's apps send a code together with the token.
        let code = idToken == nil ? code : nil
        let fields = [
            ("idToken", idToken), ("accessToken", accessToken), ("code", code), ("authorization", authorization),
        ]
        let given = fields.filter { $0.1 != nil }.map(\.0)
        guard let first = given.first else { throw APIError.missing("idToken") }
        guard given.count == 1 else {
            throw APIError.invalid(given[1], "only one of idToken, accessToken, code and authorization is allowed")
        }
        switch first {
        case "idToken":
            let token = try Self.text(idToken, "idToken", in: 1...IDToken.maximumLength)
            let code = try self.code.map { try Self.text($0, "code", in: 1...4_096) }
            return .proof(.idToken(token, nonce: try Self.text(nonce, "nonce", in: 1...255), code: code))
        case "accessToken": return .proof(.accessToken(try Self.text(accessToken, "accessToken", in: 1...8_192)))
        case "authorization":
            let text = try Self.text(authorization, "authorization", in: 43...43)
            return .authorization(text, verifier: try verifier())
        default: return .proof(.code(try authorizationCode(redirectURLs)))
        }
    }

    private func authorizationCode(_ redirectURLs: Set<String>) throws -> AuthorizationCode {
        AuthorizationCode(
            text: try Self.text(code, "code", in: 1...4_096),
            verifier: try verifier(),
            callback: try RedirectURL.check(redirectUri ?? "", among: redirectURLs),
            nonce: try nonce.map { try Self.text($0, "nonce", in: 1...255) }
        )
    }

    /// Returns the PKCE verifier (RFC 7636, section 4.1).
    private func verifier() throws -> String {
        let text = try Self.text(codeVerifier, "codeVerifier", in: 43...128)
        let isPlain = text.utf8.allSatisfy {
            Base64URL.isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "~")
        }
        guard isPlain else {
            throw APIError.invalid("codeVerifier", "codeVerifier must have 43 to 128 characters of A-Z, a-z, 0-9, -._~")
        }
        return text
    }

    /// Accepts only printable ASCII, because the text is sent in headers and forms.
    private static func text(_ text: String?, _ field: String, in length: ClosedRange<Int>) throws -> String {
        guard let text, !text.isEmpty else { throw APIError.missing(field) }
        guard length.contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            let range = "\(length.lowerBound) to \(length.upperBound)"
            throw APIError.invalid(field, "\"\(field)\" must have \(range) printable ASCII characters")
        }
        return text
    }
}

enum RedirectURL {
    /// Returns the address if the operator has registered it; addresses are compared exactly (RFC 9700, section 2.1).
    ///
    /// - Throws: a 400 for the field `redirectUri`.
    static func check(_ url: String, among registered: Set<String>) throws -> String {
        guard !url.isEmpty else { throw APIError.missing("redirectUri") }
        // Compared by bytes, because `==` treats different Unicode spellings of a character as equal.
        guard registered.contains(where: { $0.isExactly(url) }) else {
            throw APIError.invalid(
                "redirectUri",
                "redirectUri is not one of IDENTITY_REDIRECT_URLS",
                code: "unregistered_url"
            )
        }
        return url
    }
}
