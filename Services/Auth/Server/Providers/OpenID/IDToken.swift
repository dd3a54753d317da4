import Credentials
import Foundation
import Wire

/// What a provider of OpenID Connect has signed about somebody (OpenID Connect Core, section 2).
struct IDToken: Sendable {
    /// Longer text is refused unread, in bytes.
    static let maximumLength = 16_384
    /// How far the provider's clock may be ahead, in seconds.
    static let leeway: Double = 60

    /// To whom a token counts.
    struct Rules: Sendable {
        /// The names that the provider goes by; one but for Google.
        var issuers: Set<String>
        /// What the provider knows our applications by.
        var clients: Set<String>
    }

    struct Claims: Sendable {
        var subject: String
        /// Which of our applications it was given to.
        var client: String
        var nonce: String?
        var email: String?
        var isEmailVerified: Bool
        /// Of whose organisation the account is, in the word of Google's.
        var hostedDomain: String?
        var name: String?
        var picture: String?
    }

    let jws: CompactJWS

    /// Reads a token; nothing in it is trusted yet.
    ///
    /// - Throws: a 401.
    init(_ text: String) throws {
        guard let jws = CompactJWS(text, maximumLength: Self.maximumLength),
            ["RS256", "ES256", "EdDSA"].contains(jws.algorithm),
            // An access token of the same provider's (RFC 9068) is signed by the same keys.
            jws.type.map({ $0.uppercased() == "JWT" }) ?? true
        else { throw ProofError.malformed }
        self.jws = jws
    }

    /// What the token says, if this key has signed it, and it counts here and now (OpenID Connect Core, 3.1.3.7).
    ///
    /// - Throws: a 401 that says what is wrong.
    func claims(signedBy key: ProviderKey, by rules: Rules, now: Date) throws -> Claims {
        guard key.verifies(jws) else { throw ProofError.signature }
        // Silence: signed, yet no JSON; that there are no claims is said below.
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
            // Apple writes it as text.
            isEmailVerified: [.bool(true), .string("true")].contains(claims["email_verified"]),
            hostedDomain: claims["hd"]?.text,
            name: claims["name"]?.text,
            picture: claims["picture"]?.text
        )
    }

    /// Which of ours it was made out to: to one alone, or by way of one that is ours as well.
    private static func client(of claims: JSONValue, among clients: Set<String>) throws -> String {
        let audience: [String]
        switch claims["aud"] {
        case .string(let one): audience = [one]
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

    /// Seconds since 1970, up to the year 9999; text is no time.
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
