/// A random generator for request ids, trace parents and random choices on one event loop.
///
/// The values are identifiers and not secrets, so a fast generator (xoshiro256**) with a system seed is sufficient.
struct FastRandomGenerator {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    init() {
        var system = SystemRandomNumberGenerator()
        // A state of only zeros would stay zero.
        state = (system.next(), system.next(), system.next(), system.next() | 1)
    }

    private mutating func next() -> UInt64 {
        let product = state.1 &* 5
        let result = (product << 7 | product >> 57) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = state.3 << 45 | state.3 >> 19
        return result
    }

    /// Returns 32 hexadecimal characters.
    mutating func requestID() -> String {
        let (high, low) = (next(), next())
        return String(unsafeUninitializedCapacity: 32) { text in
            Self.write(high, into: text, at: 0)
            Self.write(low, into: text, at: 16)
            return 32
        }
    }

    /// Returns a W3C trace parent that starts a sampled trace.
    mutating func traceparent() -> String {
        let (high, low, parent) = (next(), next() | 1, next() | 1)
        return String(unsafeUninitializedCapacity: 55) { text in
            _ = text.update(fromContentsOf: "00-".utf8)
            Self.write(high, into: text, at: 3)
            Self.write(low, into: text, at: 19)
            text[35] = UInt8(ascii: "-")
            Self.write(parent, into: text, at: 36)
            _ = text[52...].update(fromContentsOf: "-01".utf8)
            return 55
        }
    }

    /// Returns the trace parent of a request on behalf of `parent`, which must be valid.
    ///
    /// It has the parent's trace id, a new span id, and the parent's defined flags (sampled, random trace id).
    mutating func traceparent(within parent: String) -> String {
        let span = next() | 1
        var parent = parent
        return parent.withUTF8 { parent in
            String(unsafeUninitializedCapacity: 55) { text in
                _ = text.update(fromContentsOf: "00".utf8)
                _ = text[2...].update(fromContentsOf: parent[2..<36])
                Self.write(span, into: text, at: 36)
                _ = text[52...].update(fromContentsOf: "-0".utf8)
                text[54] = UInt8(ascii: "0") + Self.digit(parent[54]) & 0x3
                return 55
            }
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8 {
        byte < UInt8(ascii: "a") ? byte - UInt8(ascii: "0") : byte - UInt8(ascii: "a") + 10
    }

    mutating func below(_ limit: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 33) % limit
    }

    /// Returns a number from 0 up to, but not including, 1.
    mutating func chance() -> Double {
        Double(next() >> 11) / Double(1 << 53 as UInt64)
    }

    private static func write(_ value: UInt64, into text: UnsafeMutableBufferPointer<UInt8>, at start: Int) {
        for index in 0..<16 {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - index * 4)) & 0xF
            text[start + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }
}
