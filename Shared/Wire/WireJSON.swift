package import Foundation

/// The one JSON of the suite: dates in RFC 3339 with milliseconds, keys as they are, slashes unescaped.
package enum WireJSON {
    package static func encoder(sortedKeys: Bool = false) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = sortedKeys ? [.withoutEscapingSlashes, .sortedKeys] : [.withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(Timestamp.string(from: date))
        }
        return encoder
    }

    package static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            guard let date = Timestamp.date(from: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
            }
            return date
        }
        return decoder
    }

    /// Reads a request's body: at most 64 levels deep and without NUL, else an `APIError` that names the field.
    package static func decode<Value: Decodable>(_ type: Value.Type, from body: some Collection<UInt8>) throws -> Value
    {
        let data = Data(body)
        guard !data.isEmpty else { throw APIError(.invalid, "missing_body", "the request has no body") }
        try JSONGuard.check(data)
        do {
            return try decoder().decode(type, from: data)
        } catch let error as DecodingError {
            throw unfitNumber(error, in: data) ?? APIError(error)
        }
    }

    /// A fraction where a whole number belongs: Foundation says that without saying where.
    private static func unfitNumber(_ error: DecodingError, in data: Data) -> APIError? {
        guard case .dataCorrupted(let context) = error, context.codingPath.isEmpty,
            // Anything else that is corrupt cannot be read this way either.
            case .object(let fields) = try? decoder().decode(JSONValue.self, from: data)
        else { return nil }
        let unfit = fields.filter { if case .number = $0.value { true } else { false } }.keys.min()
        return unfit.map { .invalid($0, "the field \"\($0)\" must be a whole number", code: "malformed_field") }
    }
}

extension APIError {
    /// What a body that does not fit its type is answered with.
    package init(_ error: DecodingError) {
        func name(_ path: [any CodingKey]) -> String? {
            let parts = path.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            guard !parts.isEmpty else { return nil }
            return parts.joined(separator: ".").replacingOccurrences(of: ".[", with: "[")
        }
        switch error {
        case .keyNotFound(let key, let context):
            self = .missing(name(context.codingPath + [key]) ?? key.stringValue)
        case .valueNotFound(_, let context):
            self = name(context.codingPath).map { .missing($0) } ?? .malformedBody
        case .typeMismatch(let type, let context):
            guard let field = name(context.codingPath) else {
                self = APIError(.invalid, "malformed_body", "the body must be a JSON object")
                return
            }
            self = .invalid(field, "the field \"\(field)\" must be \(Self.noun(for: type))", code: "mistyped_field")
        case .dataCorrupted(let context):
            guard let field = name(context.codingPath) else {
                self = .malformedBody
                return
            }
            self = .invalid(field, "the field \"\(field)\" is malformed", code: "malformed_field")
        @unknown default:
            self = .malformedBody
        }
    }

    private static let malformedBody = APIError(.invalid, "malformed_body", "the body is not well-formed JSON")

    private static func noun(for type: Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "a whole number"
        case is any BinaryFloatingPoint.Type: "a number"
        default: "\(type)".hasPrefix("Array") ? "an array" : "an object"
        }
    }
}
