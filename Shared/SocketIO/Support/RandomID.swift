/// Unguessable ids of base64url characters.
enum RandomID {
    private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Returns the prefix followed by 20 characters with 120 bits from the system's cryptographic generator.
    static func make(prefix: String = "") -> String {
        var system = SystemRandomNumberGenerator()
        return String(unsafeUninitializedCapacity: prefix.utf8.count + 20) { buffer in
            var end = 0
            for byte in prefix.utf8 {
                buffer[end] = byte
                end += 1
            }
            for _ in 0..<2 {
                var bits: UInt64 = system.next()
                for _ in 0..<10 {
                    buffer[end] = characters[Int(bits & 63)]
                    bits >>= 6
                    end += 1
                }
            }
            return end
        }
    }
}
