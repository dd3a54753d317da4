import Credentials
import Foundation
import Wire

/// An ID token of an OpenID Connect provider (OpenID Connect Core, section 2).
struct IDToken: Sendable {
    /// The longest accepted token, in bytes.
    static let maximumLength = 16_384
    /// The accepted clock difference when the provider's clock is ahead, in seconds.
    static let leeway: Double = 60

    struct Rules: Sendable {
        /// The accepted issuers; only Google has more than one.
        var issuers: Set<String>
        /// The client ids of this deployment's applications.
        var clients: Set<String>
    }

    struct Claims: Sendable {
        var subject: String
        var client: String
        var nonce: String?
        var email: String?
        var isEmailVerified: Bool
        /// The organization of the account; only in Google's tokens (`hd`).
        var hostedDomain: String?
        var name: String?
        var picture: String?
    }

    let jws: CompactJWS

    /// Parses a token without verifying its signature.
    ///
    /// - Throws: a 401.
    init(_ text: String) throws {
        guard let jws = CompactJWS(text, maximumLength: Self.maximumLength),
            ["RS256", "ES256", "EdDSA"].contains(jws.algorithm),
            // Access tokens of the same provider (RFC 9068) are signed with the same keys, so `typ` must be checked.
            jws.type.map({ $0.uppercased() == "JWT" }) ?? true
        else { throw ProofError.malformed }
        self.jws = jws
    }

    /// Verifies the signature and the claims (OpenID Connect Core, 3.1.3.7), and returns the claims.
    ///
    /// - Throws: a 401 that names the problem.
    func claims(signedBy key: ProviderKey, by rules: Rules, now: Date) throws -> Claims {
        guard key.verifies(jws) else { throw ProofError.signature }
        // The parse error is ignored, because the thrown error already reports malformed claims.
        guard let claims = try? JSONParser.parse(jws.payload), case .object = claims else { throw ProofError.claims }
        guard let issuer = claims["iss"]?.text, rules.issuers.contains(issuer) else { throw ProofError.issuer }
        let client = try Self.client(of: claims, among: rules.clients)
        try Self.checkTimes(claims, now.timeIntervalSince1970)
        guard let subject = claims["sub"]?.text, (1...255).contains(subject.unicodeScalars.count) else {
            throw ProofError.claims
        }
        return Claims(
            subject: subject,
            client: client,
            nonce: claims["nonce"]?.text,
            email: claims["email"]?.text,
            // Apple sends the flag as a string.
            isEmailVerified: [.bool(true), .string("true")].contains(claims["email_verified"]),
            hostedDomain: claims["hd"]?.text,
            name: claims["name"]?.text,
            picture: claims["picture"]?.text
        )
    }

    /// Returns the audience that is an application of this deployment.
    ///
    /// With several audiences, the authorized party must be one too.
    private static func client(of claims: JSONValue, among clients: Set<String>) throws -> String {
        let audience: [String]
        switch claims["aud"] {
        case .string(let client): audience = [client]
        case .array(let all): audience = all.compactMap(\.text)
        default: throw ProofError.audience
        }
        guard let ours = audience.first(where: clients.contains) else { throw ProofError.audience }
        guard let party = claims["azp"] else {
            guard audience.count == 1 else { throw ProofError.audience }
            return ours
        }
        guard let party = party.text, clients.contains(party) else { throw ProofError.audience }
        return ours
    }

    private static func checkTimes(_ claims: JSONValue, _ now: Double) throws {
        guard let expires = time(claims["exp"]), let issued = time(claims["iat"]) else { throw ProofError.claims }
        guard expires > now else { throw ProofError.expired }
        var begins = issued
        if let notBefore = claims["nbf"] {
            guard let time = time(notBefore) else { throw ProofError.claims }
            begins = max(begins, time)
        }
        guard begins <= now + leeway else { throw ProofError.early }
    }

    /// Returns seconds since 1970, up to the year 9999; nil for any other value.
    private static func time(_ json: JSONValue?) -> Double? {
        let seconds: Double
        switch json {
        case .integer(let whole): seconds = Double(whole)
        case .number(let number): seconds = number
        default: return nil
        }
        return (0...253_402_300_799).contains(seconds) ? seconds : nil
    }
}
