import Foundation

/// A decoder of typed values from a `JSONValue`, so that a body is parsed only once.
///
/// The cost depends on the fields that the type has; unknown fields cost nothing.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    fileprivate let location: CodingLocation

    init(_ value: JSONValue) {
        self.init(value, CodingLocation(parent: nil, key: nil))
    }

    fileprivate init(_ value: JSONValue, _ location: CodingLocation) {
        self.value = value
        self.location = location
    }

    var codingPath: [any CodingKey] { location.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let fields) = value else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(FieldContainer<Key>(fields: fields, parent: location.step))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
        return ElementContainer(elements: elements, parent: location.step)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = value else { throw mismatch(type) }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let value) = value else { throw mismatch(type) }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .integer(let value): return Double(value)
        case .number(let value): return value
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // The types' own initializers expect another format.
        if type == Date.self, let date = try date() as? Value { return date }
        if type == URL.self, let url = try url() as? Value { return url }
        if type == Data.self, let data = try data() as? Value { return data }
        return try type.init(from: self)
    }

    private func integer<Number: FixedWidthInteger>() throws -> Number {
        let number: Number?
        switch value {
        case .integer(let value): number = Number(exactly: value)
        case .number(let value): number = Number(exactly: value)
        default: throw mismatch(Number.self)
        }
        guard let number else {
            throw corrupted("not a whole number of \(Number.self)", because: JSONValueDecoder.NumberOutOfRange())
        }
        return number
    }

    /// The error of a number with a fraction or out of range where an integer is required.
    struct NumberOutOfRange: Error {}

    private func date() throws -> Date {
        guard let date = Timestamp.date(from: try decode(String.self)) else {
            throw corrupted("not an RFC 3339 time")
        }
        return date
    }

    private func data() throws -> Data {
        guard let data = Data(base64Encoded: try decode(String.self)) else { throw corrupted("not base64") }
        return data
    }

    private func url() throws -> URL {
        guard let url = URL(string: try decode(String.self)) else { throw corrupted("not a URL") }
        return url
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "a value of another kind")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ description: String, because error: (any Error)? = nil) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: description, underlyingError: error))
    }
}

extension JSONValue {
    var isNull: Bool { if case .null = self { true } else { false } }
}

/// The location of a value.
///
/// A step is allocated only for containers, and a path is built only for errors.
private struct CodingLocation {
    final class Step {
        let parent: Step?
        let key: any CodingKey

        init(parent: Step?, key: any CodingKey) {
            self.parent = parent
            self.key = key
        }
    }

    let parent: Step?
    let key: (any CodingKey)?

    var step: Step? { key.map { Step(parent: parent, key: $0) } ?? parent }
    var path: [any CodingKey] { Self.path(to: parent) + (key.map { [$0] } ?? []) }

    static func path(to step: Step?) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var step = step
        while let current = step {
            path.append(current.key)
            step = current.parent
        }
        return path.reversed()
    }
}

/// An index in an array.
struct ElementKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var stringValue: String { "[\(index)]" }
    var intValue: Int? { index }
}

/// The key of a superclass's decoder.
private struct SuperKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var stringValue: String { "super" }
    var intValue: Int? { nil }
}

private struct FieldContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: JSONValue]
    let parent: CodingLocation.Step?

    var codingPath: [any CodingKey] { CodingLocation.path(to: parent) }
    var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

    private func decoder(_ key: any CodingKey) throws -> JSONValueDecoder {
        guard let value = fields[key.stringValue] else {
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "no such field")
            throw DecodingError.keyNotFound(key, context)
        }
        return JSONValueDecoder(value, CodingLocation(parent: parent, key: key))
    }

    /// Returns the decoder of a field, or nil if the field is missing or null.
    private func decoderIfPresent(_ key: Key) -> JSONValueDecoder? {
        guard let value = fields[key.stringValue], !value.isNull else { return nil }
        return JSONValueDecoder(value, CodingLocation(parent: parent, key: key))
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(key).decode(type) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(key).decode(type)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try decoderIfPresent(key)?.decode(type)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try decoderIfPresent(key)?.decode(type)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try decoderIfPresent(key)?.decode(type)
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try decoderIfPresent(key)?.decode(type)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try decoderIfPresent(key)?.decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try decoder(SuperKey()) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct ElementContainer: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let parent: CodingLocation.Step?
    private(set) var currentIndex = 0

    init(elements: [JSONValue], parent: CodingLocation.Step?) {
        self.elements = elements
        self.parent = parent
    }

    var codingPath: [any CodingKey] { CodingLocation.path(to: parent) }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    /// Returns the decoder of the next element without advancing.
    private func decoder(for type: Any.Type) throws -> JSONValueDecoder {
        let key = ElementKey(currentIndex)
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: codingPath + [key], debugDescription: "no more elements")
            throw DecodingError.valueNotFound(type, context)
        }
        return JSONValueDecoder(elements[currentIndex], CodingLocation(parent: parent, key: key))
    }

    mutating func decodeNil() throws -> Bool {
        let isNil = try decoder(for: Never.self).decodeNil()
        if isNil { currentIndex += 1 }
        return isNil
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try decoder(for: type).decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let container = try decoder(for: [String: JSONValue].self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try decoder(for: [JSONValue].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try decoder(for: JSONValue.self)
        currentIndex += 1
        return decoder
    }
}
