import Foundation
import Wire

/// Accessors for networks' JSON, which may have numbers as strings and strings as numbers.
extension JSONValue {
    /// An id, written as text or as a number; nil if it is empty.
    var identifier: String? {
        switch self {
        case .string(let text) where !text.isEmpty: text
        case .integer(let whole): String(whole)
        default: nil
        }
    }

    /// A number, which may be written as text.
    var double: Double? {
        switch self {
        case .integer(let whole): Double(whole)
        case .number(let number): number
        case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// A count, which may be written as a fraction (`1609.0`) or text.
    var count: Int? { double.flatMap { Int(exactly: $0.rounded()) } }

    /// A boolean, which may be written as 0 or 1.
    var flag: Bool? {
        switch self {
        case .bool(let flag): flag
        case .integer(let whole): whole != 0
        default: nil
        }
    }

    /// The values of an array; empty for any other type.
    var list: [JSONValue] {
        guard case .array(let values) = self else { return [] }
        return values
    }

    /// The fields of an object; empty for any other type.
    var fields: [String: JSONValue] {
        guard case .object(let fields) = self else { return [:] }
        return fields
    }

    /// The text, unless it is empty.
    var nonEmpty: String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    /// A URL that a client may open: http or https only.
    var link: String? {
        text.flatMap { text in
            let start = text.prefix(8).lowercased()
            return start.hasPrefix("https://") || start.hasPrefix("http://") ? text : nil
        }
    }

    var date: Date? { text.flatMap(NetworkTime.date) }

    /// A time in seconds since 1970, as a number or as text.
    var epoch: Date? {
        double.flatMap { NetworkTime.plausible(Date(timeIntervalSince1970: $0)) }
    }

    /// A time in milliseconds since 1970, as a number or as text.
    var epochMilliseconds: Date? {
        double.flatMap { NetworkTime.plausible(Date(timeIntervalSince1970: $0 / 1_000)) }
    }
}

extension JSONValue? {
    /// The values of an array; empty for any other type, or nil.
    var list: [JSONValue] { self?.list ?? [] }
}
