package import Wire

/// Why a credential is rejected.
///
/// The code tells a client what to do: send another credential, refresh the access token, or sign in again.
extension APIError {
    /// The credential is malformed, unknown, or not signed by a known key.
    package static let invalidToken = APIError(
        .forbidden,
        "invalid_token",
        "The credential is malformed, unknown or has no valid signature. Sign in to get a valid one."
    )

    /// The credential is genuine, and its lifetime is over.
    package static let tokenExpired = APIError(
        .forbidden,
        "token_expired",
        "The access token has expired. Get a new one with the refresh token."
    )

    /// The session of the credential has ended, so that refreshing cannot help.
    package static let sessionEnded = APIError(.forbidden, "session_ended", "The session has ended. Sign in again.")
}
