/// The limits of a JSON text.
///
/// `JSONValidator` checks them in one pass over the bytes before decoding.
package struct JSONLimits: Hashable, Sendable {
    /// The maximum size of the text in bytes.
    package var bytes: Int
    /// The maximum number of values, including arrays and objects.
    package var values: Int
    /// The maximum nesting depth of arrays and objects.
    package var depth: Int
    /// The maximum nesting depth inside a field whose structure the client chooses (`freeFields`).
    package var freeDepth = JSONValidator.maximumDepth
    /// The maximum size in bytes of a field's compact JSON, by the field's name, at any depth.
    package var fields: [String: Int] = [:]

    /// The fields whose structure the client chooses.
    static let freeFields = ["meta", "data", "pushPayload"]

    package init(bytes: Int, values: Int, depth: Int) {
        self.bytes = bytes
        self.values = values
        self.depth = depth
    }

    /// The limits of routes without a credential: names, passwords, codes, tokens of providers.
    package static let open = JSONLimits(bytes: 16_384, values: 500, depth: 16)
    /// The limits of routes with a credential.
    package static let body = JSONLimits(bytes: 262_144, values: 10_000, depth: 16)
    /// The limits of routes with a text of 64 kB, each byte of which may be escaped, or with a list of users.
    package static let large = JSONLimits(bytes: 1_048_576, values: 10_000, depth: 16)
    /// The limits of internal routes, whose bodies contain clients' fields within their own fields, and whole lists.
    package static let internalBody: JSONLimits = {
        var limits = JSONLimits(bytes: 1_048_576, values: 200_000, depth: 80)
        limits.freeDepth = 80
        return limits
    }()
    /// The limits of a form's part that contains JSON of any structure.
    package static let free = JSONLimits(bytes: 1_048_576, values: 10_000, depth: JSONValidator.maximumDepth)

    /// Returns the same limits with limits for the size of some fields.
    package func limiting(_ fields: [String: Int]) -> JSONLimits {
        var limits = self
        limits.fields = fields
        return limits
    }
}
