import Credentials
import Crypto
import Foundation
import Wire

/// Apple's client secret: a token signed by the developer (Apple, "Creating a client secret").
enum AppleSecret {
    private struct Claims: Decodable {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int
    }

    /// Apple's limit of six months: 15,777,000 seconds.
    private static let maximumLifetime = 15_777_000

    static func isValid(_ text: String, of client: String, _ accounts: DeveloperAccounts, at now: Date) -> Bool {
        guard let jws = CompactJWS(text, maximumLength: 4_096), jws.algorithm == "ES256",
            let account = jws.keyID.flatMap({ accounts.account(keyID: $0) }),
            // The guard treats an unreadable secret as invalid.
            let claims = try? JSONDecoder().decode(Claims.self, from: jws.payload),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature)
        else { return false }
        let time = Int(now.timeIntervalSince1970)
        return account.apnsKey.publicKey.isValidSignature(signature, for: jws.signingInput)
            && claims.iss == account.teamID && claims.sub == client && claims.aud == "https://appleid.apple.com"
            && claims.exp > time && claims.iat <= time + 60 && claims.exp - claims.iat <= maximumLifetime
    }
}
