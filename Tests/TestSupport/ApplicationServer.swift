package import Credentials
import Crypto
package import CryptoExtras
package import Foundation
package import Wire

/// An application's own server, which signs its tokens itself.
package struct ApplicationServer: Sendable {
    package let key: ApplicationKey
    package let privateKey: _RSA.Signing.PrivateKey

    /// Creates a server with a key that `auth` accepts.
    package init(of application: String, at auth: TestKeys) throws {
        guard let key = ApplicationKey(application: application, id: "k1") else {
            throw TestSupportError("\(application) is not a valid application id")
        }
        self.key = key
        privateKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        auth.setKey(key, publicKey: privateKey.publicKey.derRepresentation)
    }

    /// Returns a valid token, with replaced claims and header fields; null removes a claim or field.
    package func token(
        _ claims: [String: JSONValue] = [:],
        header: [String: JSONValue] = [:],
        now: Date = Date(),
        lifetime: Double = 300,
        signedBy other: _RSA.Signing.PrivateKey? = nil
    ) throws -> String {
        let time = Int64(now.timeIntervalSince1970)
        let header = ["typ": .string("JWT"), "alg": .string("RS256"), "kid": .string(key.id)].merging(header) { $1 }
        let good: [String: JSONValue] = [
            "iss": .string(key.application), "sub": .string("__server__"), "iat": .integer(time),
            "exp": .integer(time + Int64(lifetime)),
        ]
        let parts = try [header, good.merging(claims) { $1 }].map { fields in
            Base64URL.encode(try JSONValue.object(fields.filter { $0.value != .null }).compact())
        }
        let input = parts.joined(separator: ".")
        let signature = try (other ?? privateKey)
            .signature(for: SHA256.hash(data: Data(input.utf8)), padding: .insecurePKCS1v1_5)
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }
}
