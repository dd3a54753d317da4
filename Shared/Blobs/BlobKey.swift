/// The key of a blob: 130 random bits as 26 characters of `a`–`z` and `2`–`7`.
///
/// A key cannot be guessed and reveals nothing about the content. It is a safe name in any file system and object
/// store, including case-insensitive ones.
public struct BlobKey: Hashable, Sendable, CustomStringConvertible {
    /// The number of characters of a key.
    public static let length = 26

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    private static let folderLength = 2

    /// The key's characters.
    public let description: String

    /// Creates a key from its text; nil if the text is not a key, so that a client's text can never become a path.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length, text.utf8.allSatisfy(Self.isOfAlphabet) else { return nil }
        description = String(text)
    }

    private init(of characters: [Character]) {
        description = String(characters)
    }

    /// Returns a new key from the system's cryptographic generator.
    public static func random() -> BlobKey {
        var generator = SystemRandomNumberGenerator()
        var bits: UInt64 = 0
        var left = 0
        return BlobKey(
            of: (0..<length).map { _ in
                if left < 5 { (bits, left) = (generator.next(), 60) }
                defer { (bits, left) = (bits >> 5, left - 5) }
                return alphabet[Int(bits & 31)]
            }
        )
    }

    /// The folder of a blob with this key, one of 1,024 over which blobs are spread evenly.
    public var folder: String { String(description.prefix(Self.folderLength)) }

    private static func isOfAlphabet(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "2")...UInt8(ascii: "7"): true
        default: false
        }
    }
}
