/// How the signing keys stand after a rotation, by `kid`.
package struct KeyRotation: Codable, Hashable, Sendable {
    /// Published, so that every verifier has it before it signs.
    package var standby: String
    /// Signs.
    package var current: String
    /// Verifies what it signed, until that has expired.
    package var previous: [String]

    package init(standby: String, current: String, previous: [String]) {
        self.standby = standby
        self.current = current
        self.previous = previous
    }
}
