import Foundation
import NetworkGuard
import ServiceHost
import SocialAPI
import Wire

/// The validation rules of accounts that clients send.
struct AccountRules: Sendable {
    /// The maximum length of a token, in characters.
    private static let maximumToken = 8_192
    /// The maximum length of an instance's address, in bytes.
    private static let maximumInstance = 512

    let hosts: AddressGuard
    let encryption: TokenEncryption
    let now: @Sendable () -> Date

    /// Returns the account that a draft describes.
    ///
    /// - Throws: `invalid_field` with a field name that starts with `prefix`.
    func account(
        _ draft: LinkDraft,
        on network: Network,
        of user: User.ID,
        field prefix: String = ""
    ) throws
        -> NetworkAccount
    {
        let draft = try decrypted(draft, field: prefix)
        let texts = [
            ("access_token", draft.accessToken), ("access_token_secret", draft.accessTokenSecret),
            ("id", draft.id), ("refresh_token", draft.refreshToken),
        ]
        for (name, text) in texts { try Self.check(text, prefix + name) }
        guard !draft.accessToken.isEmpty else { throw APIError.missing(prefix + "access_token") }
        return NetworkAccount(
            owner: user,
            id: Self.nonEmpty(draft.id),
            tokens: NetworkTokens(
                access: draft.accessToken,
                secret: Self.nonEmpty(draft.accessTokenSecret),
                refresh: Self.nonEmpty(draft.refreshToken),
                expiresAt: draft.expiresIn.map { now().addingTimeInterval(min(max($0, 0), 3_153_600_000)) }
            ),
            instance: try instance(draft.instance, on: network, field: prefix + "instance")
        )
    }

    /// Returns the draft with all encrypted values decrypted.
    private func decrypted(_ draft: LinkDraft, field prefix: String) throws -> LinkDraft {
        var draft = draft
        draft.accessToken = try encryption.open(draft.accessToken, field: prefix + "access_token")
        draft.accessTokenSecret = try draft.accessTokenSecret.map {
            try encryption.open($0, field: prefix + "access_token_secret")
        }
        draft.id = try draft.id.map { try encryption.open($0, field: prefix + "id") }
        draft.refreshToken = try draft.refreshToken.map { try encryption.open($0, field: prefix + "refresh_token") }
        return draft
    }

    /// Returns the account's server as `https://mastodon.example`.
    ///
    /// Networks with a single server ignore `text` and have nil.
    func instance(_ text: String?, on network: Network, field: String) throws -> String? {
        guard let text = Self.nonEmpty(text) else {
            guard network != .mastodon else { throw APIError.missing(field) }
            return nil
        }
        guard text.utf8.count <= Self.maximumInstance else {
            throw APIError.invalid(field, "an instance may have at most \(Self.maximumInstance) bytes")
        }
        guard [.mastodon, .bluesky].contains(network) else { return nil }
        guard let origin = HTTPOrigin(text.contains("://") ? text : "https://\(text)") else {
            throw APIError.invalid(field, "an instance is a host name such as mastodon.example")
        }
        guard hosts.mayConnect(origin) else {
            let message = "an instance is a public host that uses https at port 443 or at a port from 1024"
            throw APIError.invalid(field, message)
        }
        return origin.url
    }

    /// Returns the account id that a client sent; nil if it is empty.
    func id(_ text: String?, field: String) throws -> String? {
        try Self.check(text, field)
        return Self.nonEmpty(text)
    }

    private static func nonEmpty(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    /// Checks a value that becomes part of an HTTP header: it must consist of printable ASCII.
    private static func check(_ text: String?, _ field: String) throws {
        guard let text else { return }
        guard text.utf8.count <= maximumToken, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw APIError.invalid(field, "\"\(field)\" may have at most \(maximumToken) printable ASCII characters")
        }
    }
}
