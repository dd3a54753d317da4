/// The properties of an image file, read from its structure; no pixel is decoded.
package struct ImageHeader: Equatable, Sendable {
    package var type: PictureFormat
    /// The width of the largest frame, before the orientation is applied.
    package var width = 0
    package var height = 0
    package var frames = 1
    /// The position where the image ends; later bytes are not part of it.
    package var end = 0
    /// Whether the file has EXIF, XMP, IPTC, comments, texts or dates.
    package var hasMetadata = false
    /// The bytes per pixel that the decoder holds for the whole image; 0 if it works in rows.
    package var bytesHeldPerPixel = 0

    /// Reads the header of an open file.
    ///
    /// - Parameters:
    ///   - descriptor: A regular file; it stays open, and its offset does not change.
    ///   - maximumPixels: The maximum number of pixels of one frame.
    ///   - maximumFrames: The maximum number of frames.
    /// - Returns: The header, which is within these limits.
    /// - Throws: The reason why the file is not decoded.
    package static func read(
        _ descriptor: Int32,
        maximumPixels: Int,
        maximumFrames: Int
    ) throws(ImageDecodingError) -> ImageHeader {
        var file = FileBytes(descriptor)
        let header = try read(&file, maximumFrames: maximumFrames)
        guard header.width > 0, header.height > 0 else { throw .broken(reason: "has a width or height of zero") }
        guard header.width <= maximumPixels / header.height else { throw .tooManyPixels }
        try ForeignFormats.rejectPolyglot(&file, imageEnd: header.end)
        return header
    }

    private static func read(_ file: inout FileBytes, maximumFrames: Int) throws(ImageDecodingError) -> ImageHeader {
        let head = file.bytes(0, upTo: 64)
        guard !head.isEmpty else { throw .broken(reason: "is empty") }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return try JPEGHeader.read(&file) }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return try PNGHeader.read(&file) }
        if head.starts(with: Array("GIF87a".utf8)) || head.starts(with: Array("GIF89a".utf8)) {
            return try GIFHeader.read(&file, maximumFrames: maximumFrames)
        }
        if head.starts(with: Array("RIFF".utf8)), head.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return try WebPHeader.read(&file, maximumFrames: maximumFrames)
        }
        if head.dropFirst(4).starts(with: Array("ftyp".utf8)) { return try HEICHeader.read(&file) }
        throw .unsupported(reason: ForeignFormats.name(head: file.bytes(0, upTo: 1_024)))
    }
}
