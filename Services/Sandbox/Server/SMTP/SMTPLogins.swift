import Crypto
import Foundation
import Wire

/// The logins of the mail server: each account's name with a password derived from its keys, stable over restarts.
struct SMTPLogins: Sendable {
    let accounts: DeveloperAccounts

    static func password(of account: DeveloperAccount) -> String {
        let secret = Data("mail:".utf8) + account.vapidKey.rawRepresentation
        return Base64URL.encode(Data(SHA256.hash(data: secret)).prefix(18))
    }

    /// Returns whether the response of `AUTH PLAIN` is valid: an authorization name, a name and a password in base64
    /// (RFC 4616).
    func isValid(plain: some StringProtocol) -> Bool {
        guard let bytes = Data(base64Encoded: String(plain)) else { return false }
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        return parts.count == 3 && (parts[0].isEmpty || parts[0] == parts[1]) && isValid(parts[1], parts[2])
    }

    func isValid(_ name: String, _ password: String) -> Bool {
        guard let account = accounts.existing(name) else { return false }
        return Self.password(of: account) == password
    }
}
