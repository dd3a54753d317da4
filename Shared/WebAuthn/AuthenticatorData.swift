import COSE
public import Foundation

/// What an authenticator says of itself and of the ceremony, under its signature (WebAuthn level 2, section 6.1).
public struct AuthenticatorData: Sendable {
    /// A credential that was just made.
    public struct AttestedCredential: Sendable {
        /// The model of the authenticator; zeros where it does not say.
        public let aaguid: Data
        public let id: Data
        /// In COSE, as it came.
        public let publicKey: Data
    }

    public let relyingPartyHash: Data
    public let isUserPresent: Bool
    /// Whether he showed that it is he, by a PIN or a finger.
    public let isUserVerified: Bool
    /// Whether it may be copied to his other devices.
    public let isBackupEligible: Bool
    public let isBackedUp: Bool
    public let signCount: UInt32
    public let credential: AttestedCredential?

    private static let headSize = 37

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
            // Extensions: nothing is asked for, so nothing is read.
            guard let (value, length) = try? CBORDecoder.decodeFirst(Data(rest)), value.map != nil else {
                throw WebAuthnError.malformed("authenticatorData")
            }
            rest = rest.dropFirst(length)
        }
        // What is a copy has to be one that may be (level 3, section 6.1.3).
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
