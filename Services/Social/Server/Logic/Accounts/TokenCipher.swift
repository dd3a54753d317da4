import Foundation
import ServiceHost
import SocialAPI
import Wire

/// Encrypts network tokens and binds them to their owner: a row copied to another owner cannot be decrypted.
struct TokenCipher: Sendable {
    let encryptor: TokenEncryptor

    /// The encrypted column of linked accounts, for key rotation.
    static let encrypted = Reencryption.Column(
        "accounts",
        value: "tokens",
        keyID: "key_id",
        columns: ["network", "application_id", "user_id"]
    ) { columns in
        Network(rawValue: columns[0]).map { owner("accounts", User.ID(application: columns[1], user: columns[2]), $0) }
    }

    func seal(_ tokens: NetworkTokens, of user: User.ID, on network: Network) throws -> TokenEncryptor.EncryptedValue {
        try encryptor.seal(WireJSON.encoder().encode(tokens), for: Self.owner("accounts", user, network))
    }

    func open(_ sealed: TokenEncryptor.EncryptedValue, of user: User.ID, on network: Network) throws -> NetworkTokens {
        let bytes = try encryptor.open(sealed, for: Self.owner("accounts", user, network))
        return try WireJSON.decoder().decode(NetworkTokens.self, from: bytes)
    }

    /// Encrypts the state of a pending authorization.
    func seal(_ value: some Encodable, of user: User.ID, state: Data) throws -> TokenEncryptor.EncryptedValue {
        try encryptor.seal(WireJSON.encoder().encode(value), for: Self.owner("authorizations", user, state))
    }

    func open<Value: Decodable>(_ sealed: TokenEncryptor.EncryptedValue, of user: User.ID, state: Data) throws -> Value
    {
        let bytes = try encryptor.open(sealed, for: Self.owner("authorizations", user, state))
        return try WireJSON.decoder().decode(Value.self, from: bytes)
    }

    private static func owner(_ table: String, _ user: User.ID, _ network: Network) -> String {
        name([table, network.rawValue, user.application, user.user])
    }

    private static func owner(_ table: String, _ user: User.ID, _ state: Data) -> String {
        name([table, Base64URL.encode(state), user.application, user.user])
    }

    /// Joins the parts with their lengths, so that different parts never give the same name.
    private static func name(_ parts: [String]) -> String {
        parts.map { "\($0.utf8.count):\($0)" }.joined(separator: "/")
    }
}
