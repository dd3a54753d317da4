package import Wire

/// The reasons for which a credential is rejected.
///
/// The code determines the client's reaction: send another credential, refresh the access token, or sign in again.
extension APIError {
    /// The credential is malformed, unknown, or not signed by a valid key.
    package static let invalidToken = APIError(
        .forbidden,
        "invalid_token",
        "the credential is malformed, unknown or has no valid signature; sign in to get a valid one"
    )

    /// The credential is genuine but has expired.
    package static let tokenExpired = APIError(
        .forbidden,
        "token_expired",
        "the access token has expired; get a new one with the refresh token"
    )

    /// The session of the credential has ended, so refreshing the token does not help.
    package static let sessionEnded = APIError(.forbidden, "session_ended", "the session has ended; sign in again")
}
