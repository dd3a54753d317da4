public import Foundation

/// A value of CBOR (RFC 8949), as far as authenticators use it: CTAP2's canonical form without floating point.
public enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number is -1 less this.
    case negative(UInt64)
    case bytes(Data)
    case text(String)
    case array([CBORValue])
    case map([CBORValue: CBORValue])
    case bool(Bool)
    case null

    /// A number, as keys and labels are written.
    public init(_ number: Int) {
        self = number >= 0 ? .unsigned(UInt64(number)) : .negative(UInt64(-1 - number))
    }

    /// The number, if it is one that fits.
    public var int: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    public var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }
    public var text: String? { if case .text(let value) = self { value } else { nil } }
    public var array: [CBORValue]? { if case .array(let value) = self { value } else { nil } }
    public var map: [CBORValue: CBORValue]? { if case .map(let value) = self { value } else { nil } }

    /// What a map has under a number.
    public subscript(label: Int) -> CBORValue? { map?[CBORValue(label)] }

    /// What a map has under a name.
    public subscript(name: String) -> CBORValue? { map?[.text(name)] }
}
