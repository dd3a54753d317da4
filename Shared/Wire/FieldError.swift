/// One of several fields that are wrong in a request, as a problem body lists them.
package struct FieldError: Codable, Hashable, Sendable {
    package var field: String
    package var code: String
    package var detail: String

    package init(field: String, code: String, detail: String) {
        self.field = field
        self.code = code
        self.detail = detail
    }

    /// Nil for an error without a field.
    init?(_ error: APIError) {
        guard let field = error.field else { return nil }
        self.init(field: field, code: error.code, detail: error.message)
    }
}

extension APIError {
    /// The most fields that one error lists.
    package static let maximumErrors = 32

    /// The same error with the errors of other fields beside it, each field once; unchanged where no other field is wrong.
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

/// Collects the errors of a request's fields, so that one response names all of them.
package struct FieldErrors: Sendable {
    private var errors: [APIError] = []

    package init() {}

    package mutating func add(_ error: APIError) {
        errors.append(error)
    }

    /// Runs the check of a field.
    ///
    /// - Returns: the checked value; nil where the field is wrong.
    /// - Throws: an error that is not about a field's value.
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
    /// - Throws: the first error, with the errors of the other fields beside it.
    package func finish() throws {
        guard let first = errors.first else { return }
        throw first.listing(Array(errors.dropFirst()))
    }
}
