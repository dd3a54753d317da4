package import Hummingbird
import Foundation
import Wire

extension Request {
    /// The last value of a query parameter, percent-decoded; nil where it is not there.
    ///
    /// - Throws: `nul_character`, `too_many_combining_marks`.
    package func query(_ name: String) throws -> String? {
        guard let value = uri.queryParameters[name[...]] else { return nil }
        try APIError.check(value, of: name)
        return String(value)
    }

    /// All values of a query parameter that may stand several times.
    package func queries(_ name: String) throws -> [String] {
        try uri.queryParameters.getAll(name).map { value in
            try APIError.check(value, of: name)
            return value
        }
    }

    /// A whole number from the query.
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

    /// How many things a list is asked for: `limit`, 20 unless named, at most 100.
    package func limit(_ name: String = "limit", default value: Int = 20) throws -> Int {
        try number(name, in: 1...100).map { Int($0) } ?? value
    }
}

extension RequestContext {
    /// A path parameter, percent-decoded: `%2F` inside a segment is data.
    ///
    /// - Throws: `notFound` where it cannot be text, since nothing has such a name.
    package func path(_ name: String) throws -> String {
        guard let raw = parameters.get(name), let value = raw.removingPercentEncoding, !value.isEmpty,
            !value.utf8.contains(0), !value.hasTooManyMarks
        else { throw APIError(.notFound, "not_found", "there is nothing here") }
        return value
    }
}
