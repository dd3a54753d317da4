package import Foundation

/// The JSON format of the suite: dates in RFC 3339 with milliseconds, unchanged keys, unescaped slashes.
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

    /// Returns a decoder for trusted JSON, written by the suite or already validated; clients' bodies require `decode`.
    package static func decoder() -> Decoder { Decoder() }

    /// A decoder with the interface of Foundation's, based on `JSONParser`.
    package struct Decoder: Sendable {
        /// The maximum nesting depth: that of a client's JSON and of the suite's JSON around it.
        private static let depth = 128

        /// Decodes a value.
        ///
        /// - Throws: a `DecodingError`.
        package func decode<Value: Decodable>(_ type: Value.Type, from text: some Sequence<UInt8>) throws -> Value {
            let value: JSONValue
            do {
                // Rows that were stored before the limit was introduced may have any number of marks.
                value = try JSONParser.parse(text, depth: Self.depth, values: .max, marks: .max)
            } catch {
                let context = DecodingError.Context(
                    codingPath: [],
                    debugDescription: "not well-formed JSON at byte \(error.offset)",
                    underlyingError: error
                )
                throw DecodingError.dataCorrupted(context)
            }
            return try JSONValueDecoder(value).decode(type)
        }
    }

    /// Decodes a client's body within its limits; throws an `APIError` that names the invalid field.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: some Collection<UInt8>,
        limits: JSONLimits = .body
    ) throws -> Value {
        // A body that is too large is neither copied nor parsed.
        guard body.count <= limits.bytes else { throw APIError.tooLarge(limit: limits.bytes) }
        let value = try body.withContiguousStorageIfAvailable { try read($0, limits) }
        return try decode(type, from: value ?? Array(body).withUnsafeBufferPointer { try read($0, limits) })
    }

    private static func read(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits) throws -> JSONValue {
        guard !bytes.isEmpty else { throw APIError(.invalid, "missing_body", "the request has no body") }
        try JSONValidator.check(UnsafeRawBufferPointer(bytes), limits: limits)
        do {
            return try JSONParser.parse(bytes, depth: max(limits.depth, limits.freeDepth), values: limits.values)
        } catch {
            throw error.reason == .marks ? APIError.tooManyMarks() : .malformedBody(at: error.offset, in: bytes)
        }
    }

    /// Decodes a parsed value.
    ///
    /// - Throws: an `APIError` that names the invalid field, or all missing and mistyped fields if there are several.
    package static func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue) throws -> Value {
        do {
            return try JSONValueDecoder(value).decode(type)
        } catch let error as DecodingError {
            throw APIError(error).listing(FieldFaults.all(of: type, in: value))
        } catch let error as APIError where error.kind == .invalid {
            throw error.listing(FieldFaults.all(of: type, in: value))
        }
    }
}

extension APIError {
    /// Creates the error for a body that does not match its type.
    package init(_ error: DecodingError) {
        func name(_ path: [any CodingKey]) -> String? {
            let parts = path.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            guard !parts.isEmpty else { return nil }
            // A dictionary's key comes from the client and may be as long as the body.
            let path = parts.map { String($0.prefix(255)) }.joined(separator: ".")
            return path.replacingOccurrences(of: ".[", with: "[")
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
            self = .invalid(field, "the field \"\(field)\" must be \(Self.noun(for: type))", code: "invalid_type")
        case .dataCorrupted(let context):
            guard let field = name(context.codingPath) else {
                self = .malformedBody
                return
            }
            let isOutOfRange = context.underlyingError is JSONValueDecoder.NumberOutOfRange
            let rule = isOutOfRange ? "must be a whole number" : "is malformed"
            self = .invalid(field, "the field \"\(field)\" \(rule)", code: "malformed_field")
        @unknown default:
            self = .malformedBody
        }
    }

    fileprivate static let malformedBody = APIError(.invalid, "malformed_body", "the body is not well-formed JSON")

    /// Returns the error for a syntax error at a byte offset; the message contains no part of the body.
    ///
    /// - Parameters:
    ///   - offset: the offset in bytes.
    ///   - bytes: the body.
    /// - Returns: the error with the line and column.
    fileprivate static func malformedBody(at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> APIError {
        let before = bytes[..<min(offset, bytes.count)]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // Each character has exactly one byte that is not a continuation byte.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return APIError(
            .invalid,
            "malformed_body",
            "the body is not well-formed JSON: syntax error at line \(line), column \(column)"
        )
    }

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
