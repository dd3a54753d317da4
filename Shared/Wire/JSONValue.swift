/// Any JSON value, for fields whose structure the client chooses (`meta`).
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

extension JSONValue: Codable {
    /// Copies the value that `JSONParser` has parsed.
    ///
    /// - Throws: an error for other decoders. Determining the type of a value by trial takes a hundred times as long as
    ///   parsing it, and longer for deeper values.
    package init(from decoder: any Decoder) throws {
        switch decoder {
        case let decoder as JSONValueDecoder: self = decoder.value
        case let decoder as JSONFaultDecoder: self = decoder.value
        default:
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not decoded by WireJSON")
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
