/// A scanner that checks for UTF-8 text (RFC 3629) without control characters except white space.
struct TextScan: Sendable {
    private var hasFailed = false
    /// The number of missing bytes of the current character, and the range of the next one.
    private var missing = 0
    private var next: ClosedRange<UInt8> = 0x80...0xBF

    /// Whether the bytes so far are complete text.
    var isText: Bool { !hasFailed && missing == 0 }

    mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        guard !hasFailed else { return }
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                // Skips eight printable ASCII bytes at a time.
                while index + 8 <= bytes.count {
                    let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    let isBelowSpace = (word &- 0x2020_2020_2020_2020) & ~word
                    let isDelete = ((word ^ 0x7F7F_7F7F_7F7F_7F7F) &- 0x0101_0101_0101_0101)
                    guard (word | isBelowSpace | isDelete) & 0x8080_8080_8080_8080 == 0 else { break }
                    index += 8
                }
                guard index < bytes.count else { return }
            }
            guard accept(bytes[index]) else {
                hasFailed = true
                return
            }
            index += 1
        }
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard next.contains(byte) else { return false }
            missing -= 1
            next = 0x80...0xBF
            return true
        }
        switch byte {
        case 0x09, 0x0A, 0x0C, 0x0D, 0x20...0x7E: return true
        case 0xC2...0xDF: begin(1, 0x80...0xBF)
        case 0xE0: begin(2, 0xA0...0xBF)
        case 0xED: begin(2, 0x80...0x9F)
        case 0xE1...0xEF: begin(2, 0x80...0xBF)
        case 0xF0: begin(3, 0x90...0xBF)
        case 0xF1...0xF3: begin(3, 0x80...0xBF)
        case 0xF4: begin(3, 0x80...0x8F)
        default: return false
        }
        return true
    }

    private mutating func begin(_ count: Int, _ range: ClosedRange<UInt8>) {
        missing = count
        next = range
    }
}
