import Crypto
import Foundation
import SocialAPI
import Wire

/// The common parts of networks with OAuth 2.0 (RFC 6749, RFC 7636).
enum OAuth2 {
    /// Returns the PKCE challenge of a verifier, method `S256`.
    static func challenge(_ verifier: String) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(verifier.utf8))))
    }

    /// Returns the code in the query of a redirect.
    ///
    /// - Throws: `permission` if the user or the network has denied access.
    static func code(_ query: [String: String]) throws -> String {
        if let code = query["code"], !code.isEmpty { return code }
        let reason =
            query["error_description"] ?? query["error"]
            ?? "the network did not confirm that the user granted access; link the account again and allow access"
        throw NetworkError(.permission, NetworkError.oneLine(reason), code: query["error"])
    }
}

extension NetworkTokens {
    /// Creates tokens from the response of a token endpoint.
    ///
    /// - Throws: `transient` if the response has no token.
    init(oauth json: JSONValue, now: Date) throws {
        guard let access = json["access_token"]?.nonEmpty else {
            throw NetworkError(.transient, "the network's response has no token")
        }
        self.init(
            access: access,
            refresh: json["refresh_token"]?.nonEmpty,
            expiresAt: json["expires_in"]?.double.flatMap { seconds in
                seconds > 0 ? NetworkTime.plausible(now.addingTimeInterval(seconds)) : nil
            }
        )
    }
}

extension PageRequest {
    /// Returns the JSON of an item if the request includes it.
    func raw(_ json: JSONValue) -> JSONValue? { includesRaw ? json : nil }

    /// Returns the requested number of items, at most the network's maximum.
    func limit(_ most: Int) -> String { String(min(max(limit, 1), most)) }

    func position<Position: Decodable>(_ type: Position.Type) throws -> Position? { try cursor?.read(as: type) }
}

/// A pause between two attempts; tests replace it.
typealias Pause = @Sendable (Duration) async throws -> Void

/// Repeats an operation until it returns a value.
///
/// - Throws: `transient` if it has not returned one after `tries` attempts.
func untilDone<Value>(
    _ tries: Int,
    pausing pause: Pause,
    _ pauses: (Int) -> Duration = { .milliseconds(min(500 << min($0, 4), 5_000)) },
    _ operation: () async throws -> Value?
) async throws -> Value {
    for attempt in 0..<tries {
        if let value = try await operation() { return value }
        try await pause(pauses(attempt))
    }
    throw NetworkError(.transient, "the network is still working on the media")
}
