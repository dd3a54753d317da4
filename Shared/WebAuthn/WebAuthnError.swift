/// The reason for rejecting a response.
public enum WebAuthnError: Error, Hashable, Sendable {
    /// The named field is invalid.
    case malformed(String)
    /// The response belongs to the other ceremony: a registration instead of a sign-in, or the reverse.
    case wrongCeremony
    /// The response answers another challenge.
    case wrongChallenge
    /// The response comes from a page or app that is not allowed, or from an embedded page.
    case wrongOrigin
    /// The response was created for another relying party.
    case wrongRelyingParty
    /// The user did not confirm presence.
    case userNotPresent
    /// The authenticator did not verify the user.
    case userNotVerified
    /// The key is invalid or uses an unsupported algorithm.
    case unsupportedKey
    /// The attestation has an unsupported format or is invalid.
    case attestation
    /// The signature is invalid.
    case wrongSignature
    /// The response belongs to another credential or another user.
    case wrongCredential
    /// The signature counter did not increase, so the authenticator was probably copied.
    case cloned
}
