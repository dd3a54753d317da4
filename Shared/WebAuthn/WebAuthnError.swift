/// Why a ceremony is refused.
public enum WebAuthnError: Error, Hashable, Sendable {
    /// A field is not what its name says.
    case malformed(String)
    /// It is an answer to something else: another ceremony, another challenge.
    case wrongCeremony
    case wrongChallenge
    /// It was made on a page of somebody else's, or inside of one.
    case wrongOrigin
    /// It was made for another relying party.
    case wrongRelyingParty
    case userNotPresent
    /// He did not show that it is he.
    case userNotVerified
    /// No algorithm of those that were asked for.
    case unsupportedKey
    /// An attestation of a kind that was not asked for, or one that is not good.
    case attestation
    case wrongSignature
    /// It is another credential, or another person's.
    case wrongCredential
    /// The authenticator has counted on elsewhere: there are two of it.
    case cloned
}
