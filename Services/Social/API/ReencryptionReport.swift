/// What came of putting people's tokens under the key that seals now.
package struct ReencryptionReport: Codable, Hashable, Sendable {
    package var reencrypted: Int
    /// Sealed with a key that `TOKEN_ENCRYPTION_KEY` does not have.
    package var unreadable: Int

    package init(reencrypted: Int, unreadable: Int) {
        self.reencrypted = reencrypted
        self.unreadable = unreadable
    }
}
