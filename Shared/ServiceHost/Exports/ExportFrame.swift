import NIOCore

/// The frames of a service's export on its way to auth: one or more files, then an end frame.
///
/// A frame is its kind (one byte), the length of the content (four bytes, big-endian) and the content. An export
/// without its end frame is incomplete, regardless of how the connection ended.
enum ExportFrame: UInt8 {
    /// The start of a text file; contains its name.
    case text = 1
    /// The start of a file that is already compressed; contains its name.
    case packed = 2
    /// The next bytes of the current file.
    case bytes = 3
    /// The end of the export.
    case end = 4

    static let headerSize = 5
    /// The maximum length of a frame's content in bytes.
    static let limit = 1_048_576
}
