import Glibc

/// The bytes of a file by position, read through a window, so that the whole file is never in memory.
struct FileBytes {
    private static let windowLength = 65_536

    let count: Int
    private let descriptor: Int32
    private var window: [UInt8] = []
    private var windowStart = 0

    /// Reads from a descriptor, which the caller closes.
    init(_ descriptor: Int32) {
        var status = stat()
        self.descriptor = descriptor
        // A file of unknown size is treated as empty.
        count = fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    mutating func byte(_ position: Int) -> UInt8? {
        guard load(position) else { return nil }
        return window[position - windowStart]
    }

    /// Returns nil unless all bytes exist.
    mutating func bytes(_ position: Int, _ length: Int) -> [UInt8]? {
        guard position >= 0, length >= 0, position <= count - length else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(length)
        while result.count < length {
            let next = position + result.count
            guard load(next) else { return nil }
            result += window[(next - windowStart)...].prefix(length - result.count)
        }
        return result
    }

    mutating func bytes(_ position: Int, upTo length: Int) -> [UInt8] {
        bytes(position, max(0, min(length, count - position))) ?? []
    }

    mutating func text(_ position: Int, _ length: Int) -> String? {
        bytes(position, length).map { String(decoding: $0, as: Unicode.ASCII.self) }
    }

    mutating func bigEndian(_ position: Int, _ length: Int) -> Int? {
        bytes(position, length)?.reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func littleEndian(_ position: Int, _ length: Int) -> Int? {
        bytes(position, length)?.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func position(of byte: UInt8, from start: Int) -> Int? {
        var position = start
        while load(position) {
            let offset = position - windowStart
            let found = window.withUnsafeBytes { bytes -> Int? in
                guard let base = bytes.baseAddress,
                    let hit = memchr(base + offset, Int32(byte), bytes.count - offset)
                else { return nil }
                return UnsafeRawPointer(hit) - base
            }
            if let found { return windowStart + found }
            position = windowStart + window.count
        }
        return nil
    }

    /// Loads the window that contains a position; returns false beyond the end.
    private mutating func load(_ position: Int) -> Bool {
        if position >= windowStart, position < windowStart + window.count { return true }
        guard position >= 0, position < count else { return false }
        let start = position - position % Self.windowLength
        window = [UInt8](unsafeUninitializedCapacity: Self.windowLength) { buffer, filled in
            // A read error is treated as the end of the file.
            while filled < buffer.count, let base = buffer.baseAddress {
                let count = pread(descriptor, base + filled, buffer.count - filled, off_t(start + filled))
                if count > 0 {
                    filled += count
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
        }
        windowStart = start
        return position < start + window.count
    }
}
