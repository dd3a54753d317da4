/// The signing keys by their role, as `kid`.
package struct KeyRotation: Codable, Hashable, Sendable {
    /// Already published, so that every verifier has the key before it signs.
    package var standby: String
    /// The key that signs.
    package var current: String
    /// Keys that verify the tokens they signed until those expire.
    package var previous: [String]

    package init(standby: String, current: String, previous: [String]) {
        self.standby = standby
        self.current = current
        self.previous = previous
    }
}
