import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// Foundation's JSON reader, as a reference.
enum ReferenceJSON {
    static func read(_ text: String) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    /// Whether both values are equal.
    static func agrees(_ value: JSONValue?, _ other: Any?) -> Bool {
        switch value {
        case nil: other == nil
        case .null: other is NSNull
        case .bool(let flag): (other as? Bool) == flag
        case .integer(let whole): (other as? NSNumber)?.int64Value == whole
        // Foundation reads long fractions as decimals and differs in the last bits.
        case .number(let number): (other as? NSNumber).map { abs($0.doubleValue - number) <= 4 * number.ulp } ?? false
        case .string(let text): (other as? String) == text
        case .array(let values):
            (other as? [Any]).map { others in
                values.count == others.count && zip(values, others).allSatisfy { agrees($0, $1) }
            } ?? false
        case .object(let fields):
            (other as? [String: Any]).map { others in
                fields.count == others.count && fields.allSatisfy { agrees($0.value, others[$0.key]) }
            } ?? false
        }
    }

    /// Returns every matching object in a value, including the value itself.
    static func objects(in value: Any, where isLike: ([String: Any]) -> Bool) -> [[String: Any]] {
        if let fields = value as? [String: Any] {
            return (isLike(fields) ? [fields] : []) + fields.values.flatMap { objects(in: $0, where: isLike) }
        }
        return (value as? [Any] ?? []).flatMap { objects(in: $0, where: isLike) }
    }

    static func text(of values: [Any]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: values), as: UTF8.self)
    }

    static func date(_ text: Any?) -> Date? {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let whole = ISO8601DateFormatter()
        return (text as? String).flatMap { format.date(from: $0) ?? whole.date(from: $0) }
    }

    /// Whether a time equals the text, to the millisecond.
    static func agrees(_ date: Date?, _ text: Any?) -> Bool {
        date.map { Timestamp.string(from: $0) } == text as? String
    }

    /// Returns the visible text of HTML without white space.
    static func visibleText(ofHTML html: String) -> String {
        PlainText.unescaped(html.replacing(/<[^>]*>/, with: "")).filter { !$0.isWhitespace }
    }
}

/// Expects that every value of a list was read, with a complete `raw`.
func expectAll(_ items: [Item], of originals: [Any], _ from: String) {
    #expect(items.count == originals.count, "\(from): \(originals.count - items.count) were not read")
    for (item, original) in zip(items, originals) where !ReferenceJSON.agrees(item.raw, original) {
        Issue.record("\(from): the raw of \(item.id) differs from the response")
    }
}
