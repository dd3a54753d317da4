import Wire

/// What a body that changes only what it names says of one value: nothing, that it goes, or what it is from now on.
package enum Change<Value: Codable & Hashable & Sendable>: Hashable, Sendable {
    /// The field is not there.
    case none
    /// `null`.
    case remove
    case set(Value)

    package var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }

    /// Whether it is named at all.
    package var isNamed: Bool { self != .none }
}

extension KeyedDecodingContainer {
    /// A value that may be left out, but not be null.
    func decodeIfNamed<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        contains(key) ? try decode(type, forKey: key) : nil
    }

    func decodeChange<Value>(_ type: Value.Type, forKey key: Key) throws -> Change<Value> {
        guard contains(key) else { return .none }
        return try decodeIfPresent(type, forKey: key).map(Change.set) ?? .remove
    }
}

extension KeyedEncodingContainer {
    mutating func encode<Value>(_ change: Change<Value>, forKey key: Key) throws {
        switch change {
        case .none: break
        case .remove: try encodeNil(forKey: key)
        case .set(let value): try encode(value, forKey: key)
        }
    }
}
