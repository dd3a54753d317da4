package import COSE
package import Crypto
package import CryptoExtras
package import Foundation
package import WebAuthn

/// A software authenticator with one credential, of whose responses tests can falsify every part.
package struct SoftwareAuthenticator: Sendable {
    package enum Key: Sendable {
        case es256(P256.Signing.PrivateKey)
        case edDSA(Curve25519.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)
    }

    /// The flags of authenticator data (WebAuthn level 2, section 6.1).
    package enum Flag {
        package static let present: UInt8 = 0x01
        package static let verified: UInt8 = 0x04
        package static let backupEligible: UInt8 = 0x08
        package static let backedUp: UInt8 = 0x10
        package static let attested: UInt8 = 0x40
        package static let extensions: UInt8 = 0x80
    }

    package var key: Key
    package var id: Data
    package var relyingParty: String
    package var origin: String
    package var flags = Flag.present | Flag.verified
    package var signCount: UInt32 = 0
    package var userHandle: Data?
    package var crossOrigin: Bool?
    /// The `type` in the client data; nil for the true type.
    package var ceremony: String?
    package var format = "none"
    package var statement: [CBORValue: CBORValue] = [:]
    package var tail = Data()

    package init(
        key: Key = .es256(P256.Signing.PrivateKey()),
        relyingParty: String = "localhost",
        origin: String = "http://localhost:8080"
    ) {
        self.key = key
        self.relyingParty = relyingParty
        self.origin = origin
        id = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
    }

    /// Returns the result of `navigator.credentials.create()`.
    package func create(_ challenge: String) throws -> RegistrationResponse {
        let client = clientData(ceremony ?? "webauthn.create", challenge)
        // An empty AAGUID, the length of the credential's id, the id and the key.
        var credential = Data(count: 16)
        credential.append(contentsOf: [UInt8(id.count >> 8), UInt8(id.count & 255)])
        credential.append(id)
        credential.append(contentsOf: publicKey.encoded)
        let data = authenticatorData(flags | Flag.attested, credential)
        var statement = statement
        if format == "packed", statement.isEmpty {
            statement[.text("alg")] = CBORValue(algorithm)
            statement[.text("sig")] = .bytes(try sign(data + SHA256.hash(data: client)))
        }
        let object = CBORValue.map([
            .text("fmt"): .text(format), .text("attStmt"): .map(statement), .text("authData"): .bytes(data),
        ])
        return RegistrationResponse(
            id: Base64URLBytes(id),
            rawId: Base64URLBytes(id),
            type: "public-key",
            response: .init(
                clientDataJSON: Base64URLBytes(client),
                attestationObject: Base64URLBytes(Data(object.encoded)),
                transports: ["internal", "hybrid"]
            )
        )
    }

    /// Returns the result of `navigator.credentials.get()`.
    package func get(_ challenge: String) throws -> AuthenticationResponse {
        let client = clientData(ceremony ?? "webauthn.get", challenge)
        let data = authenticatorData(flags, Data())
        return AuthenticationResponse(
            id: Base64URLBytes(id),
            rawId: Base64URLBytes(id),
            type: "public-key",
            response: .init(
                clientDataJSON: Base64URLBytes(client),
                authenticatorData: Base64URLBytes(data),
                signature: Base64URLBytes(try sign(data + SHA256.hash(data: client))),
                userHandle: userHandle.map(Base64URLBytes.init)
            )
        )
    }

    private func clientData(_ type: String, _ challenge: String) -> Data {
        let cross = crossOrigin.map { ",\"crossOrigin\":\($0)" } ?? ""
        // Browsers sometimes add members, so that servers do not compare the text with a template.
        let more = "\"other_keys_can_be_added_here\":\"do not compare clientDataJSON against a template\""
        let text = "{\"type\":\"\(type)\",\"challenge\":\"\(challenge)\",\"origin\":\"\(origin)\"\(cross),\(more)}"
        return Data(text.utf8)
    }

    private func authenticatorData(_ flags: UInt8, _ credential: Data) -> Data {
        var data = Data(SHA256.hash(data: Data(relyingParty.utf8)))
        data.append(flags)
        data.append(withUnsafeBytes(of: signCount.bigEndian) { Data($0) })
        data.append(credential)
        data.append(tail)
        return data
    }

    package var algorithm: Int {
        switch key {
        case .es256: COSEKey.Algorithm.es256.rawValue
        case .edDSA: COSEKey.Algorithm.edDSA.rawValue
        case .rs256: COSEKey.Algorithm.rs256.rawValue
        }
    }

    /// The public key as COSE (RFC 9053, section 7; RFC 8230, section 4).
    package var publicKey: CBORValue {
        let algorithm = CBORValue(algorithm)
        switch key {
        case .es256(let key):
            let point = key.publicKey.x963Representation
            return .map([
                CBORValue(1): CBORValue(2), CBORValue(3): algorithm, CBORValue(-1): CBORValue(1),
                CBORValue(-2): .bytes(Data(point.dropFirst().prefix(32))),
                CBORValue(-3): .bytes(Data(point.suffix(32))),
            ])
        case .edDSA(let key):
            return .map([
                CBORValue(1): CBORValue(1), CBORValue(3): algorithm, CBORValue(-1): CBORValue(6),
                CBORValue(-2): .bytes(key.publicKey.rawRepresentation),
            ])
        case .rs256(let key):
            // A generated key always has both numbers.
            let parts = try? key.publicKey.getKeyPrimitives()
            return .map([
                CBORValue(1): CBORValue(3), CBORValue(3): algorithm,
                CBORValue(-1): .bytes(parts?.modulus ?? Data()),
                CBORValue(-2): .bytes(parts?.publicExponent ?? Data()),
            ])
        }
    }

    package func sign(_ data: Data) throws -> Data {
        switch key {
        case .es256(let key): try key.signature(for: data).derRepresentation
        case .edDSA(let key): try key.signature(for: data)
        case .rs256(let key): try key.signature(for: data, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}

extension CBORValue {
    /// The value in CTAP2's canonical form; only tests encode CBOR, because Roost only reads it.
    package var encoded: [UInt8] {
        switch self {
        case .unsigned(let number): Self.head(0, number)
        case .negative(let number): Self.head(1, number)
        case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): Self.head(3, UInt64(text.utf8.count)) + text.utf8
        case .array(let elements): Self.head(4, UInt64(elements.count)) + elements.flatMap(\.encoded)
        case .map(let pairs): Self.head(5, UInt64(pairs.count)) + Self.sorted(pairs)
        case .bool(let value): [value ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    /// Encodes the pairs in the order of their keys: by length, then by bytes.
    private static func sorted(_ pairs: [CBORValue: CBORValue]) -> [UInt8] {
        let encoded = pairs.map { (key: $0.key.encoded, value: $0.value.encoded) }
        let sorted = encoded.sorted { one, other in
            guard one.key.count == other.key.count else { return one.key.count < other.key.count }
            return one.key.lexicographicallyPrecedes(other.key)
        }
        return sorted.flatMap { $0.key + $0.value }
    }

    private static func head(_ major: UInt8, _ number: UInt64) -> [UInt8] {
        let bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        return switch number {
        case ..<24: [major << 5 | UInt8(number)]
        case ..<0x100: [major << 5 | 24] + bytes.suffix(1)
        case ..<0x1_0000: [major << 5 | 25] + bytes.suffix(2)
        case ..<0x1_0000_0000: [major << 5 | 26] + bytes.suffix(4)
        default: [major << 5 | 27] + bytes
        }
    }
}
