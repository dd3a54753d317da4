import Foundation

/// Everything secret that a sandbox has: its authority, the keys of accounts, and what subscriptions are derived from.
package final class SandboxKeys: Sendable {
    let authority: PrivateAuthority
    let accounts: DeveloperAccounts
    let subscriptions: Subscriptions

    /// Makes keys, or finds those that are kept; blocks for as long as that takes, which may be seconds.
    ///
    /// - Parameter folder: where keys are kept; nil for keys that last as long as the process.
    /// - Throws: `SettingError` where they cannot be kept there.
    package init(storedIn folder: String? = nil) throws {
        let folder = try folder.map { try PrivateFolder($0) }
        authority = try PrivateAuthority(storedIn: folder, now: Date())
        accounts = try DeveloperAccounts(storedIn: folder)
        subscriptions = try Subscriptions(storedIn: folder)
    }
}
