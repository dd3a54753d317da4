/// The name of a blob: 26 characters of `a`–`z` and `2`–`7`, which are 130 random bits.
///
/// Nobody guesses one, none says anything about its content, and each is a safe name in any file system and object
/// store, also where upper and lower case are the same.
public struct BlobKey: Hashable, Sendable, CustomStringConvertible {
    /// How many characters a key has.
    public static let length = 26

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    private static let folderLength = 2

    /// The key's characters.
    public let description: String

    /// Takes a key that was noted; nil for what is none, so that what a stranger sends can be no path.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length, text.utf8.allSatisfy(Self.isOfAlphabet) else { return nil }
        description = String(text)
    }

    private init(of characters: [Character]) {
        description = String(characters)
    }

    /// A key that nobody has had and nobody will have, from the system's generator.
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

    /// The folder that a blob of this key lies in: blobs spread evenly over 1,024 of them.
    public var folder: String { String(description.prefix(Self.folderLength)) }

    private static func isOfAlphabet(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "2")...UInt8(ascii: "7"): true
        default: false
        }
    }
}
