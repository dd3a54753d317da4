public import Foundation

/// Reads CBOR from somebody who is not trusted.
///
/// Only CTAP2's canonical form is taken: lengths known beforehand, numbers in their shortest form, keys once; no tags and no
/// floating point. Nothing is reserved for what a length promises before it is there.
public struct CBORDecoder {
    /// It is not that, and so was not made by an authenticator.
    public struct Malformed: Error {}

    /// CTAP2 has at most four; attestation statements hold keys inside of maps.
    private static let maximumDepth = 6

    private var rest: Data.SubSequence

    private init(_ data: Data) {
        rest = data[...]
    }

    /// The value that the bytes are, all of them.
    ///
    /// - Throws: `Malformed`.
    public static func decode(_ data: Data) throws -> CBORValue {
        let (value, length) = try decodeFirst(data)
        guard length == data.count else { throw Malformed() }
        return value
    }

    /// The value that the bytes begin with, and how many it takes.
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
        case 2: return .bytes(try take(argument))
        case 3:
            guard let text = String(validating: try take(argument), as: UTF8.self) else { throw Malformed() }
            return .text(text)
        case 4: return .array(try elements(argument) { try $0.value(depth: depth + 1) })
        case 5: return try map(argument, depth: depth)
        // Tags.
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
        // Each takes a byte at least.
        guard count <= UInt64(rest.count) else { throw Malformed() }
        // Not by map(), which reserves room for all of them: an element has some 40 bytes, at each of six levels.
        var elements: [Element] = []
        for _ in 0..<Int(count) { elements.append(try read(&self)) }
        return elements
    }

    /// What stands behind the first byte: a number, a length or a count.
    private mutating func argument(_ additional: UInt8) throws -> UInt64 {
        guard additional >= 24 else { return UInt64(additional) }
        guard additional <= 27 else { throw Malformed() }
        let size = 1 << Int(additional - 24)
        let value = try take(UInt64(size)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Shorter would have done.
        let least: UInt64 = size == 1 ? 24 : 1 << (UInt64(size) * 4)
        guard value >= least else { throw Malformed() }
        return value
    }

    private mutating func take(_ count: UInt64) throws -> Data {
        guard count <= UInt64(rest.count) else { throw Malformed() }
        defer { rest = rest.dropFirst(Int(count)) }
        return Data(rest.prefix(Int(count)))
    }
}
