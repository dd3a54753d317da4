import Foundation
import SocialAPI
import Wire

/// The body of a request (seed comblie): `meta` has tokens, `data` the post, and the other fields are also accepted in
/// the query.
///
/// It is optional for reads.
struct SocialRequest: Decodable, Sendable {
    /// The tokens by network; unknown names are ignored.
    var meta: [Network: RequestAccount] = [:]
    var data: JSONValue?
    var limit: Int?
    var cursor: String?
    var network: String?
    var thread: String?
    var raw: Bool?
    /// The time of a scheduled post.
    var at: Date?

    private enum CodingKeys: String, CodingKey { case meta, data, limit, cursor, network, thread, raw, at }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if values.contains(.meta), try !values.decodeNil(forKey: .meta) {
            let requested = try values.nestedContainer(keyedBy: AnyKey.self, forKey: .meta)
            for key in requested.allKeys {
                guard let network = Network(named: key.stringValue), network != .roost,
                    try !requested.decodeNil(forKey: key)
                else { continue }
                let account = try requested.decode(RequestAccount.self, forKey: key)
                // The seed's example has empty strings for a network that is not used.
                if !account.accessToken.isEmpty { meta[network] = account }
            }
        }
        data = try values.decodeIfPresent(JSONValue.self, forKey: .data)
        limit = try values.decodeIfPresent(Int.self, forKey: .limit)
        cursor = try values.decodeIfPresent(String.self, forKey: .cursor)
        network = try values.decodeIfPresent(String.self, forKey: .network)
        thread = try values.decodeIfPresent(String.self, forKey: .thread)
        raw = try values.decodeIfPresent(Bool.self, forKey: .raw)
        at = try values.decodeIfPresent(Date.self, forKey: .at)
    }
}

/// An account in `meta`.
struct RequestAccount: Decodable, Sendable {
    var accessToken: String
    var accessTokenSecret: String?
    var id: String?
    var refreshToken: String?
    var instance: String?

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case accessTokenSecret = "access_token_secret"
        case id
        case refreshToken = "refresh_token"
        case instance
    }
}

extension LinkDraft {
    init(_ requested: RequestAccount) {
        self.init(
            accessToken: requested.accessToken,
            accessTokenSecret: requested.accessTokenSecret,
            id: requested.id,
            refreshToken: requested.refreshToken,
            instance: requested.instance
        )
    }
}
