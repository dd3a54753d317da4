import Foundation
import Locks
import Wire

/// The developer accounts, each created when it is first requested.
final class DeveloperAccounts: Sendable {
    /// Bounds the cost of RSA keys, which take time and memory; no test needs as many accounts.
    private static let limit = 100

    private let folder: PrivateFolder?
    private let accounts = Lock<[String: DeveloperAccount]>([:])

    /// Loads the stored accounts and creates the standard one.
    ///
    /// Blocks on the disk and while keys are generated.
    init(storedIn folder: PrivateFolder?) throws {
        self.folder = try folder?.folder("accounts")
        _ = try account(DeveloperAccount.standard)
        // Services still use the keys of accounts that an earlier run created.
        for name in try self.folder.map({ try FileManager.default.contentsOfDirectory(atPath: $0.path) }) ?? []
        where Self.isName(name) {
            _ = try account(name)
        }
    }

    /// Returns the account of that name, and creates it when it does not exist.
    ///
    /// - Throws: `APIError` when the name is invalid or the limit of accounts is reached.
    func account(_ name: String) throws -> DeveloperAccount {
        guard Self.isName(name) else {
            throw APIError.invalid("account", "an account name has 1 to 40 of the characters a to z, 0 to 9 and -")
        }
        return try accounts.withLock { accounts in
            if let account = accounts[name] { return account }
            guard accounts.count < Self.limit else {
                throw APIError(.conflict, "too_many_accounts", "the limit of \(Self.limit) accounts is reached")
            }
            let own = try folder?.folder(name)
            let account: DeveloperAccount
            if let own, let saved = try DeveloperAccount(name, storedIn: own) {
                account = saved
            } else {
                account = try DeveloperAccount(making: name)
                if let own { try account.save(in: own) }
            }
            accounts[name] = account
            return account
        }
    }

    func existing(_ name: String) -> DeveloperAccount? { accounts.withLock { $0[name] } }

    func account(keyID: String) -> DeveloperAccount? {
        accounts.withLock { $0.values.first { $0.keyID == keyID } }
    }

    func account(clientEmail: String) -> DeveloperAccount? {
        accounts.withLock { $0.values.first { $0.clientEmail == clientEmail } }
    }

    private static func isName(_ name: String) -> Bool {
        1...40 ~= name.utf8.count
            && name.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    || $0 == UInt8(ascii: "-")
            }
    }
}
