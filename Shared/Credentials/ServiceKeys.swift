import Crypto
import Foundation
import Wire

/// The Ed25519 keys (RFC 8032) with which the processes of a deployment authenticate to each other.
///
/// A process has its own private keys and the public keys of all. It therefore cannot act as another service, and only
/// the operator's command has the operator's key.
package struct ServiceKeys: Sendable {
    /// The processes of a deployment; `roost` is the operator's command.
    package static let names = ["auth", "conversations", "gateway", "photos", "push", "roost", "social"]
    /// The maximum number of keys of a process: the signing key, and a second one during a rotation.
    package static let keysPerName = 2
    /// The minimum length of a shared secret in bytes.
    package static let minimumSecretLength = 32

    struct PublicKey: Sendable {
        let issuer: String
        let key: Curve25519.Signing.PublicKey
    }

    /// The process that holds the private keys.
    package let name: String
    let signingKey: Curve25519.Signing.PrivateKey
    let signingKeyID: String
    let publicKeys: [String: PublicKey]
    /// The secrets for data that only this service signs and verifies, such as cursors and file links; the first one
    /// signs.
    package let ownSecrets: [String]

    /// Reads keys from the values of the settings `SERVICE_KEY` and `SERVICE_PUBLIC_KEYS`.
    ///
    /// - Parameters:
    ///   - privateKeys: one or two private keys of 32 bytes in base64, separated by a comma; the first one signs.
    ///   - publicKeys: `name:key` pairs, separated by commas; at most two for each name.
    ///   - name: the process that has the private keys.
    /// - Throws: an `APIError` that names the setting and its valid form.
    package init(privateKeys: String, publicKeys: String, name: String) throws {
        let own = try Self.privateKeys(privateKeys)
        var all: [String: PublicKey] = [:]
        var counts: [String: Int] = [:]
        for pair in publicKeys.split(separator: ",") {
            let parts = pair.trimmed.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let bytes = Data(base64Encoded: String(parts[1])),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)  // reported below
            else { throw Self.malformed("SERVICE_PUBLIC_KEYS must be name:key pairs; each key is 32 bytes in base64") }
            let issuer = String(parts[0])
            counts[issuer, default: 0] += 1
            guard counts[issuer, default: 0] <= Self.keysPerName else {
                throw Self.malformed("SERVICE_PUBLIC_KEYS has more than \(Self.keysPerName) keys of \(issuer)")
            }
            all[Self.id(of: key)] = PublicKey(issuer: issuer, key: key)
        }
        guard let signing = own.first, all[Self.id(of: signing.publicKey)]?.issuer == name else {
            throw Self.malformed("SERVICE_PUBLIC_KEYS must contain the public key of SERVICE_KEY, under \(name)")
        }
        self.init(name: name, own: own, publicKeys: all)
    }

    /// Derives the keys of all processes from a shared secret.
    ///
    /// Use this only for development, because each process can act as any other one.
    ///
    /// - Parameters:
    ///   - secret: the shared secret, at least 32 bytes.
    ///   - name: the process that uses the keys.
    /// - Throws: an `APIError` if the secret is too short.
    package init(secret: String, name: String) throws {
        guard secret.utf8.count >= Self.minimumSecretLength else {
            throw APIError(
                .internal,
                "weak_secret",
                "SERVICE_SECRET must have at least \(Self.minimumSecretLength) bytes"
            )
        }
        var all: [String: PublicKey] = [:]
        for issuer in Set(Self.names + [name]) {
            let key = try Self.derivedKey(of: issuer, from: secret).publicKey
            all[Self.id(of: key)] = PublicKey(issuer: issuer, key: key)
        }
        self.init(name: name, own: [try Self.derivedKey(of: name, from: secret)], publicKeys: all)
    }

    private init(name: String, own: [Curve25519.Signing.PrivateKey], publicKeys: [String: PublicKey]) {
        self.name = name
        signingKey = own[0]
        signingKeyID = Self.id(of: own[0].publicKey)
        self.publicKeys = publicKeys
        ownSecrets = own.map { key in
            let derived = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: key.rawRepresentation),
                info: Data("roost own secret".utf8),
                outputByteCount: 32
            )
            return derived.withUnsafeBytes { Data($0).base64EncodedString() }
        }
    }

    /// Returns the name of the variable with a process's private keys in the operator's files, such as
    /// `AUTH_SERVICE_KEY`.
    package static func setting(of name: String) -> String { name.uppercased() + settingSuffix }
    package static let settingSuffix = "_SERVICE_KEY"

    /// Returns a new private key in base64.
    package static func generate() -> String {
        Curve25519.Signing.PrivateKey().rawRepresentation.base64EncodedString()
    }

    /// Returns the value of `SERVICE_PUBLIC_KEYS` for the private keys of all processes, by name.
    ///
    /// - Parameter privateKeys: the private keys of each process.
    /// - Returns: the setting's value.
    /// - Throws: an `APIError` if a private key is malformed.
    package static func publicKeys(of privateKeys: [String: String]) throws -> String {
        try privateKeys.sorted { $0.key < $1.key }
            .flatMap { name, keys in
                try Self.privateKeys(keys).map { "\(name):\($0.publicKey.rawRepresentation.base64EncodedString())" }
            }
            .joined(separator: ",")
    }

    private static func privateKeys(_ text: String) throws -> [Curve25519.Signing.PrivateKey] {
        let keys = text.split(separator: ",").compactMap { part in
            Data(base64Encoded: part.trimmed).flatMap { try? Curve25519.Signing.PrivateKey(rawRepresentation: $0) }
        }
        guard 1...keysPerName ~= keys.count, keys.count == text.split(separator: ",").count else {
            throw malformed("SERVICE_KEY must be one or two Ed25519 private keys, each 32 bytes in base64")
        }
        return keys
    }

    private static func derivedKey(of name: String, from secret: String) throws -> Curve25519.Signing.PrivateKey {
        let seed = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
            info: Data("roost service key \(name)".utf8),
            outputByteCount: 32
        )
        return try Curve25519.Signing.PrivateKey(rawRepresentation: seed.withUnsafeBytes { Data($0) })
    }

    private static func id(of key: Curve25519.Signing.PublicKey) -> String {
        Base64URL.encode(Data(SHA256.hash(data: key.rawRepresentation).prefix(9)))
    }

    private static func malformed(_ message: String) -> APIError { APIError(.internal, "malformed_key", message) }
}

extension StringProtocol {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
