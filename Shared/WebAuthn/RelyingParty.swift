import COSE
import Crypto
public import Foundation

/// A relying party: a site with its apps, for which credentials are created (WebAuthn level 2, sections 7.1 and 7.2).
///
/// User verification is required, so a credential counts as two factors: the device and its unlocking. The
/// authenticator's model is not verified.
public struct RelyingParty: Sendable {
    /// A newly created credential.
    public struct NewCredential: Sendable {
        /// The credential's id.
        public let id: Data
        /// The public key in COSE.
        public let publicKey: Data
        /// The initial signature counter.
        public let signCount: UInt32
        /// Whether the credential may be copied to other devices of the user.
        public let isBackupEligible: Bool
        /// Whether the credential has been copied.
        public let isBackedUp: Bool
        /// The transports that the browser reported; at most 8 of at most 32 bytes.
        public let transports: [String]
    }

    /// A credential that the application has stored.
    public struct KnownCredential: Sendable {
        /// The credential's id.
        public var id: Data
        /// The public key in COSE.
        public var publicKey: Data
        /// The signature counter of the last sign-in.
        public var signCount: UInt32
        /// The handle of the credential's user.
        public var userHandle: Data

        /// Creates a credential.
        public init(id: Data, publicKey: Data, signCount: UInt32, userHandle: Data) {
            self.id = id
            self.publicKey = publicKey
            self.signCount = signCount
            self.userHandle = userHandle
        }
    }

    /// The result of a sign-in; store both values.
    public struct Assertion: Sendable {
        /// The new signature counter.
        public let signCount: UInt32
        /// Whether the credential has been copied.
        public let isBackedUp: Bool
    }

    /// The relying party's domain, `example.org`.
    public let id: String
    /// The allowed pages and apps, in the browser's notation: `https://example.org`, `android:apk-key-hash:…`.
    public let origins: Set<String>
    private let idHash: Data

    /// Creates a relying party.
    public init(id: String, origins: Set<String>) {
        self.id = id
        self.origins = origins
        idHash = Data(SHA256.hash(data: Data(id.utf8)))
    }

    /// Verifies the creation of a credential.
    ///
    /// - Parameters:
    ///   - registration: The browser's response.
    ///   - challenge: The issued challenge, in base64url; it must not have been used before.
    /// - Returns: The credential to store.
    /// - Throws: `WebAuthnError`.
    public func register(_ registration: RegistrationResponse, challenge: String) throws -> NewCredential {
        guard registration.type == "public-key", registration.id == registration.rawId else {
            throw WebAuthnError.malformed("id")
        }
        try check(registration.response.clientDataJSON.bytes, type: "webauthn.create", challenge: challenge)
        guard let object = try? CBORDecoder.decode(registration.response.attestationObject.bytes),
            let format = object["fmt"]?.text, let statement = object["attStmt"]?.map,
            let authData = object["authData"]?.bytes
        else { throw WebAuthnError.malformed("attestationObject") }
        let data = try AuthenticatorData(authData)
        try check(data)
        guard let credential = data.credential else { throw WebAuthnError.malformed("attestationObject") }
        guard credential.id == registration.rawId.bytes else { throw WebAuthnError.wrongCredential }
        guard let key = try? COSEKey(bytes: credential.publicKey) else { throw WebAuthnError.unsupportedKey }
        let signed = authData + SHA256.hash(data: registration.response.clientDataJSON.bytes)
        try Self.check(format, CBORValue.map(statement), of: key, signed: signed)
        return NewCredential(
            id: credential.id,
            publicKey: credential.publicKey,
            signCount: data.signCount,
            isBackupEligible: data.isBackupEligible,
            isBackedUp: data.isBackedUp,
            transports: (registration.response.transports ?? []).prefix(8).filter { (1...32).contains($0.utf8.count) }
        )
    }

    /// Verifies a sign-in.
    ///
    /// - Parameters:
    ///   - authentication: The browser's response.
    ///   - challenge: The issued challenge, in base64url; it must not have been used before.
    ///   - credential: The stored credential with the response's id.
    /// - Returns: The new values to store with the credential.
    /// - Throws: `WebAuthnError`.
    public func authenticate(
        _ authentication: AuthenticationResponse,
        challenge: String,
        by credential: KnownCredential
    ) throws -> Assertion {
        guard authentication.type == "public-key", authentication.id == authentication.rawId else {
            throw WebAuthnError.malformed("id")
        }
        guard authentication.rawId.bytes == credential.id else { throw WebAuthnError.wrongCredential }
        if let handle = authentication.response.userHandle, handle.bytes != credential.userHandle {
            throw WebAuthnError.wrongCredential
        }
        try check(authentication.response.clientDataJSON.bytes, type: "webauthn.get", challenge: challenge)
        let authData = authentication.response.authenticatorData.bytes
        let data = try AuthenticatorData(authData)
        try check(data)
        guard let key = try? COSEKey(bytes: credential.publicKey) else { throw WebAuthnError.unsupportedKey }
        let signed = authData + SHA256.hash(data: authentication.response.clientDataJSON.bytes)
        guard key.isValid(signature: authentication.response.signature.bytes, for: signed) else {
            throw WebAuthnError.wrongSignature
        }
        // Credentials that are copied to other devices have no counter and send 0 (section 6.1.1).
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

    /// Accepts no attestation (section 8.7), or one packed with the credential's own key (section 8.2).
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
