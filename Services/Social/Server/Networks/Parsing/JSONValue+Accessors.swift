import Foundation
import Wire

/// Reading what networks send, who take numbers for strings and the other way round.
extension JSONValue {
    /// An id, whether it is written as text or as a number; nil for the empty one.
    var identifier: String? {
        switch self {
        case .string(let text) where !text.isEmpty: text
        case .integer(let whole): String(whole)
        default: nil
        }
    }

    /// A number, also as text.
    var double: Double? {
        switch self {
        case .integer(let whole): Double(whole)
        case .number(let number): number
        case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// A count, also as a fraction (`1609.0`) or text.
    var count: Int? { double.flatMap { Int(exactly: $0.rounded()) } }

    /// A claim, also as 0 or 1.
    var flag: Bool? {
        switch self {
        case .bool(let flag): flag
        case .integer(let whole): whole != 0
        default: nil
        }
    }

    /// The values of an array; none for anything else.
    var list: [JSONValue] {
        guard case .array(let values) = self else { return [] }
        return values
    }

    /// The fields of an object; none for anything else.
    var fields: [String: JSONValue] {
        guard case .object(let fields) = self else { return [:] }
        return fields
    }

    /// Text that has something in it.
    var nonEmpty: String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    /// An address that a client may open: http or https, nothing else.
    var link: String? {
        text.flatMap { text in
            let start = text.prefix(8).lowercased()
            return start.hasPrefix("https://") || start.hasPrefix("http://") ? text : nil
        }
    }

    var date: Date? { text.flatMap(NetworkTime.date) }

    /// Seconds since 1970, as a number or as text.
    var epoch: Date? {
        double.flatMap { NetworkTime.plausible(Date(timeIntervalSince1970: $0)) }
    }

    /// The same of milliseconds.
    var epochMilliseconds: Date? {
        double.flatMap { NetworkTime.plausible(Date(timeIntervalSince1970: $0 / 1_000)) }
    }
}

extension JSONValue? {
    /// The values of an array; none for anything else, or nothing.
    var list: [JSONValue] { self?.list ?? [] }
}
