/// What a JSON text may hold.
///
/// `JSONValidator` checks all of it in one pass over the bytes, before anything is decoded.
package struct JSONLimits: Hashable, Sendable {
    /// Bytes of the text.
    package var bytes: Int
    /// Values of all kinds, arrays and objects included.
    package var values: Int
    /// Levels of arrays and objects.
    package var depth: Int
    /// Levels inside of a field whose shape the client chooses (`freeFields`).
    package var freeDepth = JSONValidator.maximumDepth
    /// Bytes of compact JSON that a field may have, wherever it is, by its name.
    package var fields: [String: Int] = [:]

    /// The fields whose shape the client chooses.
    static let freeFields = ["meta", "data", "pushPayload"]

    package init(bytes: Int, values: Int, depth: Int) {
        self.bytes = bytes
        self.values = values
        self.depth = depth
    }

    /// Routes without a credential: names, passwords, codes, tokens of providers.
    package static let open = JSONLimits(bytes: 16_384, values: 500, depth: 16)
    /// Routes with a credential.
    package static let body = JSONLimits(bytes: 262_144, values: 10_000, depth: 16)
    /// Routes that take a text of 64 kB, of which each byte may be escaped, or a list of users.
    package static let large = JSONLimits(bytes: 1_048_576, values: 10_000, depth: 16)
    /// What another service of the suite sends: clients' fields within fields of its own, and whole lists.
    package static let internalBody: JSONLimits = {
        var limits = JSONLimits(bytes: 1_048_576, values: 200_000, depth: 80)
        limits.freeDepth = 80
        return limits
    }()
    /// A part of a form that is JSON of any shape.
    package static let free = JSONLimits(bytes: 1_048_576, values: 10_000, depth: JSONValidator.maximumDepth)

    /// The same limits with a bound on the size of some fields.
    package func limiting(_ fields: [String: Int]) -> JSONLimits {
        var limits = self
        limits.fields = fields
        return limits
    }
}
