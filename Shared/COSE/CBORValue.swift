public import Foundation

/// A CBOR value (RFC 8949) in CTAP2's canonical form without floating point.
public enum CBORValue: Hashable, Sendable {
    /// An unsigned integer.
    case unsigned(UInt64)
    /// A negative integer: -1 minus the value.
    case negative(UInt64)
    /// A byte string.
    case bytes(Data)
    /// A text string.
    case text(String)
    /// An array.
    case array([CBORValue])
    /// A map.
    case map([CBORValue: CBORValue])
    /// A boolean.
    case bool(Bool)
    /// The null value.
    case null

    /// Creates an integer.
    public init(_ number: Int) {
        self = number >= 0 ? .unsigned(UInt64(number)) : .negative(UInt64(-1 - number))
    }

    /// The integer, if it fits into `Int`.
    public var int: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The byte string; nil for other types.
    public var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }
    /// The text string; nil for other types.
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    /// The array; nil for other types.
    public var array: [CBORValue]? { if case .array(let value) = self { value } else { nil } }
    /// The map; nil for other types.
    public var map: [CBORValue: CBORValue]? { if case .map(let value) = self { value } else { nil } }

    /// The value of a map's integer key.
    public subscript(label: Int) -> CBORValue? { map?[CBORValue(label)] }

    /// The value of a map's text key.
    public subscript(name: String) -> CBORValue? { map?[.text(name)] }
}
