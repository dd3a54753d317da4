public import NIOCore

/// A detector of media types by content; file names and headers are ignored.
///
/// It recognises common images, audio, video, documents and archives by their signatures. Well-formed UTF-8 without
/// control characters is `text/plain`, including HTML, SVG, XML and scripts: so no type is reported that a browser
/// would execute. Anything else is `application/octet-stream`.
public struct MediaTypeDetector: Sendable {
    /// The type of unrecognised bytes.
    public static let unknown = "application/octet-stream"
    /// The type of text in any format.
    public static let text = "text/plain"

    /// The number of leading bytes that are searched for a signature.
    private static let headLength = 4_096

    private var head: [UInt8] = []
    private var textScan = TextScan()

    /// Creates a detector that has seen no bytes.
    public init() {}

    /// Inspects the next bytes of the content.
    public mutating func feed(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { bytes in
            if head.count < Self.headLength { head += bytes.prefix(Self.headLength - head.count) }
            textScan.feed(bytes)
        }
    }

    /// The media type of the bytes so far, as the whole content.
    public var mediaType: String {
        Signature.mediaType(of: head) ?? (textScan.isText ? Self.text : Self.unknown)
    }
}
