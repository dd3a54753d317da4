import Foundation
import Locks
import Wire

/// The providers' customers, each made when first asked for.
final class DeveloperAccounts: Sendable {
    /// A key of RSA takes a moment and some memory: who needs more is mistaken.
    private static let limit = 100

    private let folder: PrivateFolder?
    private let known = Lock<[String: DeveloperAccount]>([:])

    /// Blocks for as long as it takes to make the first account, or on the disk.
    init(storedIn folder: PrivateFolder?) throws {
        self.folder = try folder?.folder("accounts")
        _ = try account(DeveloperAccount.standard)
        // What an earlier run has made goes on being known by its keys.
        for name in try self.folder.map({ try FileManager.default.contentsOfDirectory(atPath: $0.path) }) ?? []
        where Self.isName(name) {
            _ = try account(name)
        }
    }

    /// The account of that name; made where there is none.
    ///
    /// - Throws: `APIError` for a name that makes none, or one too many.
    func account(_ name: String) throws -> DeveloperAccount {
        guard Self.isName(name) else {
            throw APIError.invalid("account", "an account is named by 1 to 40 of a to z, 0 to 9 and -")
        }
        return try known.withLock { known in
            if let account = known[name] { return account }
            guard known.count < Self.limit else {
                throw APIError(.conflict, "too_many_accounts", "there are \(Self.limit) accounts already")
            }
            let own = try folder?.folder(name)
            let account: DeveloperAccount
            if let own, let saved = try DeveloperAccount(name, storedIn: own) {
                account = saved
            } else {
                account = try DeveloperAccount(making: name)
                if let own { try account.save(in: own) }
            }
            known[name] = account
            return account
        }
    }

    /// The account of that name, if there is one.
    func existing(_ name: String) -> DeveloperAccount? { known.withLock { $0[name] } }

    /// The account that has a key of Apple's by this id.
    func account(keyID: String) -> DeveloperAccount? {
        known.withLock { $0.values.first { $0.keyID == keyID } }
    }

    /// The account that has a service account of Google's by this address.
    func account(clientEmail: String) -> DeveloperAccount? {
        known.withLock { $0.values.first { $0.clientEmail == clientEmail } }
    }

    private static func isName(_ name: String) -> Bool {
        1...40 ~= name.utf8.count
            && name.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    || $0 == UInt8(ascii: "-")
            }
    }
}
