import NIOCore

/// What a service's part of an export is made of on its way to auth: files, one after the other, and a word at the end.
///
/// A frame is a byte that says what it is, the length of what follows (four bytes, the first one highest), and that. Without its
/// last frame a part is not whole, whatever the connection says.
enum ExportFrame: UInt8 {
    /// A file of text begins; its name.
    case text = 1
    /// A file that is packed already begins; its name.
    case packed = 2
    /// Some more of it.
    case bytes = 3
    /// That was all of all files.
    case end = 4

    static let headerSize = 5
    /// The most that follows a header, in bytes.
    static let limit = 1_048_576
}
