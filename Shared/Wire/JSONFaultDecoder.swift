import Foundation

/// The collected faults of a decoding that continues after a fault.
final class FieldFaults {
    /// The error that ends the decoding once there are enough faults.
    struct Full: Error {}

    /// The maximum size in bytes of all details; a name in a path comes from the client and may be long.
    private static let maximumBytes = 8_192

    private(set) var errors: [APIError] = []
    private var bytes = 0

    /// Returns the errors of all fields that prevent `value` from being decoded as `type`, as far as they are
    /// independent.
    static func all<Value: Decodable>(of type: Value.Type, in value: JSONValue) -> [APIError] {
        let faults = FieldFaults()
        // Only the recorded faults matter, because the decoded value contains placeholders.
        _ = try? JSONFaultDecoder(value: value, codingPath: [], faults: faults).decode(type)
        return faults.errors
    }

    fileprivate func add(_ error: APIError) throws {
        let size = error.message.utf8.count
        guard errors.count < APIError.maximumErrors, bytes + size <= Self.maximumBytes else { throw Full() }
        bytes += size
        errors.append(error)
    }
}

/// A decoder that finds every invalid field of a `JSONValue` and not only the first.
///
/// A missing field or a value of a wrong type is recorded and replaced by a placeholder. This decoder runs only after
/// `JSONValueDecoder` has failed.
struct JSONFaultDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    /// The collector; nil while a placeholder is created, when nothing is recorded and every scalar is replaced.
    let faults: FieldFaults?

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        if case .object(let fields) = value {
            return KeyedDecodingContainer(FaultFields<Key>(fields: fields, decoder: self))
        }
        guard faults == nil else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(FaultFields<Key>(fields: [:], decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if case .array(let elements) = value { return FaultElements(elements: elements, decoder: self) }
        guard faults == nil else { throw mismatch([JSONValue].self) }
        return FaultElements(elements: [], decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// Decodes a nested value; returns a placeholder if it is invalid.
    ///
    /// - Throws: an error if the type has no placeholder, or once there are enough faults.
    fileprivate func decode<Value: Decodable>(
        _ type: Value.Type,
        at key: any CodingKey,
        from value: JSONValue?
    ) throws -> Value {
        let count = faults?.errors.count
        do {
            guard let value else {
                let context = DecodingError.Context(codingPath: codingPath, debugDescription: "no such field")
                throw DecodingError.keyNotFound(key, context)
            }
            return try JSONFaultDecoder(value: value, codingPath: codingPath + [key], faults: faults).decode(type)
        } catch let error as FieldFaults.Full {
            throw error
        } catch {
            // An error after a recorded fault may be caused by the placeholder.
            if let faults, faults.errors.count == count,
                let fault = (error as? DecodingError).map({ APIError($0) }) ?? error as? APIError,
                fault.kind == .invalid
            {
                try faults.add(fault)
            }
            guard let placeholder = Self.placeholder(type) else { throw error }
            return placeholder
        }
    }

    private static func placeholder<Value: Decodable>(_ type: Value.Type) -> Value? {
        func first<Cases: CaseIterable>(of type: Cases.Type) -> Any? { type.allCases.first }
        if let cases = type as? any CaseIterable.Type, let value = first(of: cases) as? Value { return value }
        // A type with its own rules may have no placeholder; then decoding ends at the enclosing value.
        return try? JSONFaultDecoder(value: .null, codingPath: [], faults: nil).decode(type)
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "a value of another kind")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension JSONFaultDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool { try scalar(type, or: false) }
    func decode(_ type: String.Type) throws -> String { try scalar(type, or: "") }
    func decode(_ type: Double.Type) throws -> Double { try scalar(type, or: 0) }
    func decode(_ type: Float.Type) throws -> Float { try scalar(type, or: 0) }
    func decode(_ type: Int.Type) throws -> Int { try scalar(type, or: 0) }
    func decode(_ type: Int8.Type) throws -> Int8 { try scalar(type, or: 0) }
    func decode(_ type: Int16.Type) throws -> Int16 { try scalar(type, or: 0) }
    func decode(_ type: Int32.Type) throws -> Int32 { try scalar(type, or: 0) }
    func decode(_ type: Int64.Type) throws -> Int64 { try scalar(type, or: 0) }
    func decode(_ type: UInt.Type) throws -> UInt { try scalar(type, or: 0) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try scalar(type, or: 0) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try scalar(type, or: 0) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try scalar(type, or: 0) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try scalar(type, or: 0) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // The types' own initializers expect another format.
        if type == Date.self { return try scalar(type, or: Date(timeIntervalSince1970: 0) as? Value) }
        if type == URL.self { return try scalar(type, or: URL(fileURLWithPath: "/") as? Value) }
        if type == Data.self { return try scalar(type, or: Data() as? Value) }
        return try type.init(from: self)
    }

    private func scalar<Value: Decodable>(_ type: Value.Type, or placeholder: Value?) throws -> Value {
        do {
            return try JSONValueDecoder(value).decode(type)
        } catch let error as DecodingError {
            if faults == nil, let placeholder { return placeholder }
            throw error.below(codingPath)
        }
    }
}

extension DecodingError {
    /// Returns the same error with `path` prepended to its coding path.
    fileprivate func below(_ path: [any CodingKey]) -> DecodingError {
        func below(_ context: Context) -> Context {
            Context(
                codingPath: path + context.codingPath,
                debugDescription: context.debugDescription,
                underlyingError: context.underlyingError
            )
        }
        switch self {
        case .keyNotFound(let key, let context): return .keyNotFound(key, below(context))
        case .valueNotFound(let type, let context): return .valueNotFound(type, below(context))
        case .typeMismatch(let type, let context): return .typeMismatch(type, below(context))
        case .dataCorrupted(let context): return .dataCorrupted(below(context))
        @unknown default: return self
        }
    }
}

private struct FaultFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: JSONValue]
    let decoder: JSONFaultDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { fields.keys.sorted().compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { fields[key.stringValue]?.isNull ?? true }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(type, key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(type, key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(type, key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(type, key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(type, key) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try value(type, key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let value = fields[key.stringValue], !value.isNull else { return nil }
        return try decoder.decode(Value?.self, at: key, from: value)
    }

    private func value<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
        try decoder.decode(type, at: key, from: fields[key.stringValue])
    }

    /// Returns the decoder of a nested container; a missing value counts as null, which the container reports.
    private func inner(_ key: any CodingKey) -> JSONFaultDecoder {
        JSONFaultDecoder(
            value: fields[key.stringValue] ?? .null,
            codingPath: codingPath + [key],
            faults: decoder.faults
        )
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try inner(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try inner(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { inner(key) }
}

private struct FaultElements: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let decoder: JSONFaultDecoder
    private(set) var currentIndex = 0

    init(elements: [JSONValue], decoder: JSONFaultDecoder) {
        self.elements = elements
        self.decoder = decoder
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        let isNil = try next(Never.self).value.isNull
        if isNil { currentIndex += 1 }
        return isNil
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try next(type).value
        defer { currentIndex += 1 }
        return try decoder.decode(type, at: ElementKey(currentIndex), from: value)
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let container = try next([String: JSONValue].self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try next([JSONValue].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try next(JSONValue.self)
        currentIndex += 1
        return decoder
    }

    /// Returns the decoder of the next element.
    private func next(_ type: Any.Type) throws -> JSONFaultDecoder {
        let path = codingPath + [ElementKey(currentIndex)]
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: path, debugDescription: "no more elements")
            throw DecodingError.valueNotFound(type, context)
        }
        return JSONFaultDecoder(value: elements[currentIndex], codingPath: path, faults: decoder.faults)
    }
}
