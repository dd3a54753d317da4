/// Damages bytes reproducibly: the same seed makes the same changes.
package struct Mutator {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// Returns a copy with one to eight changes, half of them in the first 600 bytes, where most formats have their
    /// structure.
    package mutating func mutate(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...8, using: &generator) where bytes.count > 3 {
            let end = Bool.random(using: &generator) ? min(bytes.count, 600) : bytes.count
            let at = Int.random(in: 0..<end, using: &generator)
            let length = min(Int.random(in: 1...64, using: &generator), bytes.count - at)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[at] = [0x00, 0xFF, 0x7F, 0x80].randomElement(using: &generator) ?? 0
            case 2: bytes.removeSubrange(at..<at + length)
            case 3: bytes.insert(contentsOf: Array(bytes[at..<at + length]), at: at)
            case 4: bytes.removeLast(min(length * 20, bytes.count / 2))
            default:
                for index in at..<at + length {
                    bytes[index] = UInt8.random(in: 0...255, using: &generator)
                }
            }
        }
        return bytes
    }

    /// Returns a copy of about `length` bytes in which a piece of 1 to 16 bytes is repeated.
    package mutating func repeatPiece(of original: [UInt8], upTo length: Int) -> [UInt8] {
        guard !original.isEmpty, original.count < length else { return original }
        let at = Int.random(in: 0..<original.count, using: &generator)
        let piece = original[at...].prefix(Int.random(in: 1...16, using: &generator))
        let times = (length - original.count) / piece.count
        return Array(original[..<at]) + Array(repeating: piece, count: times).joined() + original[at...]
    }
}
