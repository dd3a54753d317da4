import Crypto
import Foundation
import SocialAPI
import Wire

/// What the networks that speak OAuth 2.0 have in common (RFC 6749, RFC 7636).
enum OAuth2 {
    /// The challenge of PKCE, `S256`.
    static func challenge(_ verifier: String) -> String {
        Base64URL.encode(Data(SHA256.hash(data: Data(verifier.utf8))))
    }

    /// The code that somebody came back with.
    ///
    /// - Throws: `permission` where he, or the network, said no.
    static func code(_ query: [String: String]) throws -> String {
        if let code = query["code"], !code.isEmpty { return code }
        let reason = query["error_description"] ?? query["error"] ?? "nothing was granted"
        throw NetworkError(.permission, NetworkError.oneLine(reason), code: query["error"])
    }
}

extension NetworkTokens {
    /// The answer of a token endpoint.
    ///
    /// - Throws: `transient` where there is no token in it.
    init(oauth json: JSONValue, now: Date) throws {
        guard let access = json["access_token"]?.nonEmpty else {
            throw NetworkError(.transient, "the network's answer has no token")
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
    /// What of an item's JSON goes into it.
    func raw(_ json: JSONValue) -> JSONValue? { includesRaw ? json : nil }

    /// As many as are wanted, and no more than the network gives.
    func limit(_ most: Int) -> String { String(min(max(limit, 1), most)) }

    func position<Position: Decodable>(_ type: Position.Type) throws -> Position? { try cursor?.read(as: type) }
}

/// Waiting between two looks at the same thing; tests have no time for it.
typealias Pause = @Sendable (Duration) async throws -> Void

/// Asks until there is an answer, as often as makes sense for one post.
///
/// - Throws: `transient` where there is none after all.
func untilDone<Answer>(
    _ tries: Int,
    pausing pause: Pause,
    _ pauses: (Int) -> Duration = { .milliseconds(min(500 << min($0, 4), 5_000)) },
    _ look: () async throws -> Answer?
) async throws -> Answer {
    for attempt in 0..<tries {
        if let answer = try await look() { return answer }
        try await pause(pauses(attempt))
    }
    throw NetworkError(.transient, "the network is still working on the media")
}
