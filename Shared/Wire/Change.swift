/// The value of a field in a partial update: missing, null or a value.
package enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The field is missing.
    case unchanged
    /// The field is `null`.
    case cleared
    case set(Value)

    package var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }

    /// Whether the field is present.
    package var isGiven: Bool { self != .unchanged }
}

extension KeyedDecodingContainer {
    /// Decodes a value that may be missing but not null.
    package func decodeIfGiven<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        contains(key) ? try decode(type, forKey: key) : nil
    }

    package func decodeChange<Value: Decodable>(forKey key: Key) throws -> Change<Value> {
        guard contains(key) else { return .unchanged }
        return try decodeIfPresent(Value.self, forKey: key).map { .set($0) } ?? .cleared
    }
}

extension KeyedEncodingContainer {
    package mutating func encode(_ change: Change<some Encodable>, forKey key: Key) throws {
        switch change {
        case .unchanged: break
        case .cleared: try encodeNil(forKey: key)
        case .set(let value): try encode(value, forKey: key)
        }
    }
}
