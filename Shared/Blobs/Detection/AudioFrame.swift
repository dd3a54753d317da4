/// Frames of audio without a container; a frame's header implies where the next frame begins.
enum AudioFrame {
    private static let bitrates = [
        // MPEG 1 and MPEG 2 layer III, in kbit/s (ISO/IEC 11172-3 and 13818-3).
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ]

    /// Returns the length of an MP3 frame in bytes, or nil if there is none.
    static func mp3Length(_ head: FileHead, at position: Int) -> Int? {
        let (first, second, third) = (head[position], head[position + 1], head[position + 2])
        guard first == 0xFF, second & 0xE6 == 0xE2, second >> 3 & 3 != 1 else { return nil }
        let (rate, sampling) = (Int(third >> 4), Int(third >> 2 & 3))
        guard (1...14).contains(rate), sampling < 3 else { return nil }
        let isFirst = second >> 3 & 3 == 3
        let divisor = isFirst ? 1 : second >> 3 & 3 == 2 ? 2 : 4
        let hertz = [44_100, 48_000, 32_000][sampling] / divisor
        let bits = bitrates[isFirst ? 0 : 1][rate - 1] * 1_000
        return (isFirst ? 144 : 72) * bits / hertz + Int(third >> 1 & 1)
    }

    /// Returns the length of an AAC frame in ADTS (ISO/IEC 13818-7, section 6.2), or nil if there is none.
    static func aacLength(_ head: FileHead, at position: Int) -> Int? {
        guard head[position] == 0xFF, head[position + 1] & 0xF6 == 0xF0, head[position + 2] >> 2 & 15 < 13 else {
            return nil
        }
        let length =
            Int(head[position + 3] & 3) << 11 | Int(head[position + 4]) << 3 | Int(head[position + 5] >> 5)
        return length >= 7 ? length : nil
    }

    /// Returns whether another frame follows the first, or the head is too short to check it.
    static func follows(_ head: FileHead, _ length: Int, _ next: (FileHead, Int) -> Int?) -> Bool {
        length + 6 > head.count || next(head, length) != nil
    }
}
