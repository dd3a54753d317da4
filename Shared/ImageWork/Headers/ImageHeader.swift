/// What a file says of itself, found by walking through its structure; no pixel is decoded.
package struct ImageHeader: Equatable, Sendable {
    package var type: PictureFormat
    /// Of the largest frame, before it is turned.
    package var width = 0
    package var height = 0
    package var frames = 1
    /// Where the image ends; what lies behind is not part of it.
    package var end = 0
    /// Whether there is anything beside what says how pixels look: EXIF, XMP, IPTC, comments, texts, dates.
    package var hasMetadata = false
    /// What the decoder keeps of the whole image, in bytes a pixel; 0 where that passes through it in rows.
    package var bytesHeldPerPixel = 0

    /// Reads the header of an open file.
    ///
    /// - Parameters:
    ///   - descriptor: a regular file. It stays open, and its offset where it is.
    ///   - mostPixels: the most that a frame may have.
    ///   - mostFrames: the most frames that the image may have.
    /// - Returns: the header, within these limits.
    /// - Throws: why the file is not decoded.
    package static func read(
        _ descriptor: Int32,
        maximumPixels: Int,
        maximumFrames: Int
    ) throws(ImageDecodingError) -> ImageHeader {
        var file = FileBytes(descriptor)
        let header = try read(&file, maximumFrames: maximumFrames)
        guard header.width > 0, header.height > 0 else { throw .broken(reason: "has a picture without pixels") }
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
