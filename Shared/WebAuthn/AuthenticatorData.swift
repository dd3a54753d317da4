import COSE
public import Foundation

/// The authenticator data that an authenticator signs (WebAuthn level 2, section 6.1).
public struct AuthenticatorData: Sendable {
    /// A newly created credential.
    public struct AttestedCredential: Sendable {
        /// The authenticator's model, 16 bytes; zeros if it is not disclosed.
        public let aaguid: Data
        /// The credential's id, 1 to 1,023 bytes.
        public let id: Data
        /// The public key in COSE, unmodified.
        public let publicKey: Data
    }

    /// The SHA-256 of the relying party's id.
    public let relyingPartyHash: Data
    /// Whether the user confirmed presence, such as by a touch.
    public let isUserPresent: Bool
    /// Whether the authenticator verified the user, such as by a PIN or a fingerprint.
    public let isUserVerified: Bool
    /// Whether the credential may be copied to other devices of the user.
    public let isBackupEligible: Bool
    /// Whether the credential has been copied.
    public let isBackedUp: Bool
    /// The signature counter; 0 if the authenticator has none.
    public let signCount: UInt32
    /// The new credential; nil for a sign-in.
    public let credential: AttestedCredential?

    private static let headSize = 37

    /// Parses authenticator data.
    ///
    /// - Throws: `WebAuthnError.malformed`.
    public init(_ bytes: Data) throws {
        let bytes = Data(bytes)
        guard bytes.count >= Self.headSize else { throw WebAuthnError.malformed("authenticatorData") }
        let flags = bytes[32]
        relyingPartyHash = bytes.prefix(32)
        isUserPresent = flags & 0x01 != 0
        isUserVerified = flags & 0x04 != 0
        isBackupEligible = flags & 0x08 != 0
        isBackedUp = flags & 0x10 != 0
        signCount = bytes[33..<37].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var rest = bytes.dropFirst(Self.headSize)
        credential = try flags & 0x40 == 0 ? nil : Self.credential(from: &rest)
        if flags & 0x80 != 0 {
            // Extensions are skipped, since none was requested.
            guard let (value, length) = try? CBORDecoder.decodeFirst(Data(rest)), value.map != nil else {
                throw WebAuthnError.malformed("authenticatorData")
            }
            rest = rest.dropFirst(length)
        }
        // A backed-up credential must be eligible for backup (level 3, section 6.1.3).
        guard rest.isEmpty, isBackupEligible || !isBackedUp else { throw WebAuthnError.malformed("authenticatorData") }
    }

    private static func credential(from rest: inout Data.SubSequence) throws -> AttestedCredential {
        guard rest.count >= 18 else { throw WebAuthnError.malformed("authenticatorData") }
        let aaguid = Data(rest.prefix(16))
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard (1...1_023).contains(length), rest.count > length else {
            throw WebAuthnError.malformed("authenticatorData")
        }
        let id = Data(rest.prefix(length))
        rest = rest.dropFirst(length)
        guard let (_, size) = try? CBORDecoder.decodeFirst(Data(rest)) else {
            throw WebAuthnError.malformed("authenticatorData")
        }
        defer { rest = rest.dropFirst(size) }
        return AttestedCredential(aaguid: aaguid, id: id, publicKey: Data(rest.prefix(size)))
    }
}
