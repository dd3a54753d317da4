/// An entry in a problem's list of invalid fields.
package struct FieldError: Codable, Hashable, Sendable {
    package var field: String
    package var code: String
    package var detail: String

    package init(field: String, code: String, detail: String) {
        self.field = field
        self.code = code
        self.detail = detail
    }

    /// Creates an entry; returns nil for an error without a field.
    init?(_ error: APIError) {
        guard let field = error.field else { return nil }
        self.init(field: field, code: error.code, detail: error.message)
    }
}

extension APIError {
    /// The maximum number of fields that one error lists.
    package static let maximumErrors = 32

    /// Returns this error with the errors of other fields, each field once; unchanged if no other field is invalid.
    package func listing(_ others: [APIError]) -> APIError {
        guard kind == .invalid, let own = FieldError(self) else { return self }
        var listed = [own]
        for other in others.compactMap({ FieldError($0) })
        where listed.count < Self.maximumErrors && !listed.contains(where: { $0.field == other.field }) {
            listed.append(other)
        }
        var error = self
        error.errors = listed.count > 1 ? listed : []
        return error
    }
}

/// A collector of the errors of a request's fields, so that one response lists all of them.
package struct FieldErrors: Sendable {
    private var errors: [APIError] = []

    package init() {}

    package mutating func add(_ error: APIError) {
        errors.append(error)
    }

    /// Runs the check of a field.
    ///
    /// - Returns: the checked value, or nil if the field is invalid.
    /// - Throws: an error that does not concern a field's value.
    package mutating func collect<Value>(_ check: () throws -> Value) throws -> Value? {
        do {
            return try check()
        } catch let error as APIError where error.kind == .invalid && error.field != nil {
            errors.append(error)
            return nil
        }
    }

    /// Ends the checks.
    ///
    /// - Throws: the first error, with the errors of the other fields.
    package func finish() throws {
        guard let first = errors.first else { return }
        throw first.listing(Array(errors.dropFirst()))
    }
}
