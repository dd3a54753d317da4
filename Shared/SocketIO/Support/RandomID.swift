/// Ids that cannot be guessed, of base64url's characters.
enum RandomID {
    private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// 20 characters, 120 bits of the system's generator, which is a cryptographic one.
    static func make(prefix: String = "") -> String {
        var system = SystemRandomNumberGenerator()
        return String(unsafeUninitializedCapacity: prefix.utf8.count + 20) { room in
            var end = 0
            for byte in prefix.utf8 {
                room[end] = byte
                end += 1
            }
            for _ in 0..<2 {
                var bits: UInt64 = system.next()
                for _ in 0..<10 {
                    room[end] = characters[Int(bits & 63)]
                    bits >>= 6
                    end += 1
                }
            }
            return end
        }
    }
}
