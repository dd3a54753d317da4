public import NIOCore

/// Tells what bytes are, from the bytes alone: nothing that a name or a header claims is believed.
///
/// Known are the usual kinds of images, sound, video, documents and archives, by their signatures. Bytes that are
/// well-formed UTF-8 without control characters from beginning to end are `text/plain`, whatever language the text is
/// in: HTML, SVG, XML and scripts are text here, so what a browser would run is never named as such. All else is
/// `application/octet-stream`.
public struct MediaTypeDetector: Sendable {
    /// What is neither text nor known.
    public static let unknown = "application/octet-stream"
    /// Text of any language.
    public static let text = "text/plain"

    /// How much of the beginning is looked at for a signature.
    private static let headLength = 4_096

    private var head: [UInt8] = []
    private var textScan = TextScan()

    public init() {}

    /// Takes the next bytes.
    public mutating func feed(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { bytes in
            if head.count < Self.headLength { head += bytes.prefix(Self.headLength - head.count) }
            textScan.feed(bytes)
        }
    }

    /// The media type of what was fed so far, if it ends here.
    public var mediaType: String {
        Signature.mediaType(of: head) ?? (textScan.isText ? Self.text : Self.unknown)
    }
}
