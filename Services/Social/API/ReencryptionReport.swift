/// The result of re-encrypting all network tokens with the current key.
package struct ReencryptionReport: Codable, Hashable, Sendable {
    package var reencrypted: Int
    /// The number of values that are encrypted with a key missing from `TOKEN_ENCRYPTION_KEY`.
    package var unreadable: Int

    package init(reencrypted: Int, unreadable: Int) {
        self.reencrypted = reencrypted
        self.unreadable = unreadable
    }
}
