package import Foundation
import Wire

/// A time in a request: seconds since 1970 with any fraction, or RFC 3339.
package struct Moment: Hashable, Sendable {
    package var date: Date

    package init(_ date: Date) { self.date = date }

    /// Parses a query parameter; nil for text that is not a time in the years 1 to 9999.
    package init?(text: String) {
        let isNumber = !text.isEmpty && text.utf8.count <= 32 && text.utf8.allSatisfy { Self.numerals.contains($0) }
        guard let date = isNumber ? Double(text).map(Date.init(timeIntervalSince1970:)) : Timestamp.date(from: text),
            Self.years.contains(date)
        else { return nil }
        self.date = date
    }

    private static let numerals = Set("0123456789.-".utf8)
    private static let years =
        Date(timeIntervalSince1970: -62_135_596_800)...Date(timeIntervalSince1970: 253_402_300_799.999)
}

extension Moment: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A value that is not a number must be text.
        if let seconds = try? container.decode(Double.self) {
            let date = Date(timeIntervalSince1970: seconds)
            guard Self.years.contains(date) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not in the years 1 to 9999")
            }
            self.date = date
        } else {
            guard let moment = Moment(text: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "neither seconds nor RFC 3339")
            }
            self = moment
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Timestamp.string(from: date))
    }
}
