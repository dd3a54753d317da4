import Foundation

/// All secrets of a sandbox: its authority, the keys of accounts, and the key that subscriptions are derived from.
package final class SandboxKeys: Sendable {
    let authority: PrivateAuthority
    let accounts: DeveloperAccounts
    let subscriptions: Subscriptions

    /// Loads the stored keys, or creates them.
    ///
    /// Blocks meanwhile, possibly for seconds.
    ///
    /// - Parameter folder: the folder of the keys; nil keeps them in memory, until the process ends.
    /// - Throws: `SettingError` when the folder cannot be created or written.
    package init(storedIn folder: String? = nil) throws {
        let folder = try folder.map { try PrivateFolder($0) }
        authority = try PrivateAuthority(storedIn: folder, now: Date())
        accounts = try DeveloperAccounts(storedIn: folder)
        subscriptions = try Subscriptions(storedIn: folder)
    }
}
