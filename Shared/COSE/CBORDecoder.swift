public import Foundation

/// A decoder of CBOR from untrusted sources.
///
/// It accepts CTAP2's canonical form only: definite lengths, shortest numbers, unique keys, no tags and no floating
/// point. It allocates no memory for an announced length before the bytes are there.
public struct CBORDecoder {
    /// The error of bytes that are not canonical CBOR.
    public struct Malformed: Error {}

    /// CTAP2 nests at most four levels; attestation statements nest keys inside maps.
    private static let maximumDepth = 6

    private var rest: Data.SubSequence

    private init(_ data: Data) {
        rest = data[...]
    }

    /// Decodes a value that takes all bytes.
    ///
    /// - Throws: `Malformed`.
    public static func decode(_ data: Data) throws -> CBORValue {
        let (value, length) = try decodeFirst(data)
        guard length == data.count else { throw Malformed() }
        return value
    }

    /// Decodes the first value; also returns its length in bytes.
    ///
    /// - Throws: `Malformed`.
    public static func decodeFirst(_ data: Data) throws -> (value: CBORValue, length: Int) {
        var decoder = CBORDecoder(data)
        let value = try decoder.value(depth: 0)
        return (value, data.count - decoder.rest.count)
    }

    private mutating func value(depth: Int) throws -> CBORValue {
        guard depth <= Self.maximumDepth, let first = rest.popFirst() else { throw Malformed() }
        let (major, additional) = (first >> 5, first & 31)
        if major == 7 {
            switch additional {
            case 20: return .bool(false)
            case 21: return .bool(true)
            case 22: return .null
            default: throw Malformed()
            }
        }
        let argument = try argument(additional)
        switch major {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(try readBytes(argument))
        case 3:
            guard let text = String(validating: try readBytes(argument), as: UTF8.self) else { throw Malformed() }
            return .text(text)
        case 4: return .array(try elements(argument) { try $0.value(depth: depth + 1) })
        case 5: return try map(argument, depth: depth)
        // Tags are not allowed.
        default: throw Malformed()
        }
    }

    private mutating func map(_ count: UInt64, depth: Int) throws -> CBORValue {
        let pairs = try elements(count) { decoder in
            (try decoder.value(depth: depth + 1), try decoder.value(depth: depth + 1))
        }
        var map: [CBORValue: CBORValue] = [:]
        for (key, value) in pairs {
            guard map.updateValue(value, forKey: key) == nil else { throw Malformed() }
        }
        return .map(map)
    }

    private mutating func elements<Element>(
        _ count: UInt64,
        _ read: (inout CBORDecoder) throws -> Element
    ) throws -> [Element] {
        // Each element takes at least one byte.
        guard count <= UInt64(rest.count) else { throw Malformed() }
        // Not `map`, which would allocate all elements in advance: some 40 bytes each, on six levels.
        var elements: [Element] = []
        for _ in 0..<Int(count) { elements.append(try read(&self)) }
        return elements
    }

    /// Reads the argument after the first byte: a number, a length or a count.
    private mutating func argument(_ additional: UInt8) throws -> UInt64 {
        guard additional >= 24 else { return UInt64(additional) }
        guard additional <= 27 else { throw Malformed() }
        let size = 1 << Int(additional - 24)
        let value = try readBytes(UInt64(size)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Rejects numbers that have a shorter form.
        let least: UInt64 = size == 1 ? 24 : 1 << (UInt64(size) * 4)
        guard value >= least else { throw Malformed() }
        return value
    }

    private mutating func readBytes(_ count: UInt64) throws -> Data {
        guard count <= UInt64(rest.count) else { throw Malformed() }
        defer { rest = rest.dropFirst(Int(count)) }
        return Data(rest.prefix(Int(count)))
    }
}
