import COSE
import Crypto
public import Foundation

/// Whom credentials are made for: a site and its apps (WebAuthn level 2, sections 7.1 and 7.2).
///
/// Users must be verified, so a credential is two factors in one: the device and what unlocks it. Which model of
/// authenticator made it is not asked for.
public struct RelyingParty: Sendable {
    /// A credential that was made.
    public struct NewCredential: Sendable {
        public let id: Data
        /// In COSE.
        public let publicKey: Data
        public let signCount: UInt32
        public let isBackupEligible: Bool
        public let isBackedUp: Bool
        public let transports: [String]
    }

    /// A credential as it is kept.
    public struct KnownCredential: Sendable {
        public var id: Data
        public var publicKey: Data
        public var signCount: UInt32
        /// What it was made for.
        public var userHandle: Data

        public init(id: Data, publicKey: Data, signCount: UInt32, userHandle: Data) {
            self.id = id
            self.publicKey = publicKey
            self.signCount = signCount
            self.userHandle = userHandle
        }
    }

    /// What a sign-in tells of its credential.
    public struct Assertion: Sendable {
        public let signCount: UInt32
        public let isBackedUp: Bool
    }

    /// The domain, `example.org`.
    public let id: String
    /// Pages and apps that it may be used by, as the browser writes them: `https://example.org`,
    /// `android:apk-key-hash:…`.
    public let origins: Set<String>
    private let idHash: Data

    public init(id: String, origins: Set<String>) {
        self.id = id
        self.origins = origins
        idHash = Data(SHA256.hash(data: Data(id.utf8)))
    }

    /// Checks a credential that was made in answer to a challenge.
    ///
    /// - Throws: `WebAuthnError`.
    public func register(_ answer: RegistrationResponse, challenge: String) throws -> NewCredential {
        guard answer.type == "public-key", answer.id == answer.rawId else { throw WebAuthnError.malformed("id") }
        try check(answer.response.clientDataJSON.bytes, type: "webauthn.create", challenge: challenge)
        guard let object = try? CBORDecoder.decode(answer.response.attestationObject.bytes),
            let format = object["fmt"]?.text, let statement = object["attStmt"]?.map,
            let authData = object["authData"]?.bytes
        else { throw WebAuthnError.malformed("attestationObject") }
        let data = try AuthenticatorData(authData)
        try check(data)
        guard let made = data.credential else { throw WebAuthnError.malformed("attestationObject") }
        guard made.id == answer.rawId.bytes else { throw WebAuthnError.wrongCredential }
        guard let key = try? COSEKey(bytes: made.publicKey) else { throw WebAuthnError.unsupportedKey }
        let signed = authData + SHA256.hash(data: answer.response.clientDataJSON.bytes)
        try Self.check(format, CBORValue.map(statement), of: key, signed: signed)
        return NewCredential(
            id: made.id,
            publicKey: made.publicKey,
            signCount: data.signCount,
            isBackupEligible: data.isBackupEligible,
            isBackedUp: data.isBackedUp,
            transports: (answer.response.transports ?? []).prefix(8).filter { (1...32).contains($0.utf8.count) }
        )
    }

    /// Checks a sign-in by a credential that is known, in answer to a challenge.
    ///
    /// - Throws: `WebAuthnError`.
    public func authenticate(
        _ answer: AuthenticationResponse,
        challenge: String,
        by credential: KnownCredential
    ) throws -> Assertion {
        guard answer.type == "public-key", answer.id == answer.rawId else { throw WebAuthnError.malformed("id") }
        guard answer.rawId.bytes == credential.id else { throw WebAuthnError.wrongCredential }
        if let handle = answer.response.userHandle, handle.bytes != credential.userHandle {
            throw WebAuthnError.wrongCredential
        }
        try check(answer.response.clientDataJSON.bytes, type: "webauthn.get", challenge: challenge)
        let authData = answer.response.authenticatorData.bytes
        let data = try AuthenticatorData(authData)
        try check(data)
        guard let key = try? COSEKey(bytes: credential.publicKey) else { throw WebAuthnError.unsupportedKey }
        let signed = authData + SHA256.hash(data: answer.response.clientDataJSON.bytes)
        guard key.isValid(signature: answer.response.signature.bytes, for: signed) else {
            throw WebAuthnError.wrongSignature
        }
        // Those that are copied to other devices do not count, and say 0 (section 6.1.1).
        guard (data.signCount == 0 && credential.signCount == 0) || data.signCount > credential.signCount else {
            throw WebAuthnError.cloned
        }
        return Assertion(signCount: data.signCount, isBackedUp: data.isBackedUp)
    }

    private func check(_ clientDataJSON: Data, type: String, challenge: String) throws {
        let client = try ClientData(clientDataJSON)
        guard client.type == type else { throw WebAuthnError.wrongCeremony }
        guard client.challenge == challenge else { throw WebAuthnError.wrongChallenge }
        guard origins.contains(client.origin), client.crossOrigin != true else { throw WebAuthnError.wrongOrigin }
    }

    private func check(_ data: AuthenticatorData) throws {
        guard data.relyingPartyHash == idHash else { throw WebAuthnError.wrongRelyingParty }
        guard data.isUserPresent else { throw WebAuthnError.userNotPresent }
        guard data.isUserVerified else { throw WebAuthnError.userNotVerified }
    }

    /// None (section 8.7), or packed by the credential's own key (section 8.2); of models nothing is asked.
    private static func check(_ format: String, _ statement: CBORValue, of key: COSEKey, signed: Data) throws {
        switch format {
        case "none":
            guard statement.map?.isEmpty == true else { throw WebAuthnError.attestation }
        case "packed":
            guard statement["x5c"] == nil, statement["alg"]?.int == key.algorithm.rawValue,
                let signature = statement["sig"]?.bytes, key.isValid(signature: signature, for: signed)
            else { throw WebAuthnError.attestation }
        default: throw WebAuthnError.attestation
        }
    }
}
