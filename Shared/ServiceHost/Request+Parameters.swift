package import Hummingbird
import Foundation
import Wire

extension Request {
    /// Returns the last value of a query parameter, percent-decoded, or nil if it is missing.
    ///
    /// - Parameter name: the parameter's name.
    /// - Returns: the value.
    /// - Throws: `nul_character` or `too_many_combining_marks`.
    package func query(_ name: String) throws -> String? {
        guard let value = uri.queryParameters[name[...]] else { return nil }
        try APIError.check(value, of: name)
        return String(value)
    }

    /// Returns all values of a query parameter that may be repeated.
    package func queries(_ name: String) throws -> [String] {
        try uri.queryParameters.getAll(name).map { value in
            try APIError.check(value, of: name)
            return value
        }
    }

    /// Returns an integer from the query, or nil if it is missing.
    package func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = try query(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw APIError.invalid(
                name,
                "\"\(name)\" must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    /// Returns the page size of a list: 1 to 100, or the default if the parameter is missing.
    package func limit(_ name: String = "limit", default value: Int = 20) throws -> Int {
        try number(name, in: 1...100).map { Int($0) } ?? value
    }
}

extension RequestContext {
    /// Returns a path parameter, percent-decoded; `%2F` inside a segment is data.
    ///
    /// - Parameter name: the parameter's name.
    /// - Returns: the value.
    /// - Throws: `not_found` if the value is not valid text, because no object has such a name.
    package func path(_ name: String) throws -> String {
        guard let raw = parameters.get(name), let value = raw.removingPercentEncoding, !value.isEmpty,
            !value.utf8.contains(0), !value.hasTooManyMarks
        else { throw APIError(.notFound, "not_found", "this path does not exist") }
        return value
    }
}
