/// What a file says of itself, found by walking through its structure; no pixel is decoded.
struct ImageHeader: Equatable {
    var type: ImageType
    /// Of the largest frame, before it is turned.
    var width = 0
    var height = 0
    var frames = 1
    /// Where the image ends; what lies behind is not part of it.
    var end = 0
    /// Whether there is anything beside what says how pixels look: EXIF, XMP, IPTC, comments, texts, dates.
    var hasMetadata = false
    /// What the decoder keeps of the whole image, in bytes a pixel; 0 where that passes through it in rows.
    var bytesHeldPerPixel = 0

    /// Reads a file's header and holds it to the limits.
    static func read(_ path: String, limits: ImageLimits) throws(ImageError) -> ImageHeader {
        var file = try FileBytes(path: path)
        let header = try read(&file, limits: limits)
        guard header.width > 0, header.height > 0 else { throw .broken(reason: "has a picture without pixels") }
        guard header.width <= limits.pixels / header.height else { throw .tooManyPixels(limit: limits.pixels) }
        try OtherKinds.refuseSecondNature(&file, imageEnd: header.end)
        return header
    }

    private static func read(_ file: inout FileBytes, limits: ImageLimits) throws(ImageError) -> ImageHeader {
        let head = file.bytes(0, upTo: 64)
        guard !head.isEmpty else { throw .broken(reason: "is empty") }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return try JPEGHeader.read(&file) }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return try PNGHeader.read(&file) }
        if head.starts(with: Array("GIF87a".utf8)) || head.starts(with: Array("GIF89a".utf8)) {
            return try GIFHeader.read(&file, limits: limits)
        }
        if head.starts(with: Array("RIFF".utf8)), head.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return try WebPHeader.read(&file, limits: limits)
        }
        if head.dropFirst(4).starts(with: Array("ftyp".utf8)) { return try HEICHeader.read(&file) }
        throw .unsupported(reason: OtherKinds.name(head: file.bytes(0, upTo: 1_024)))
    }
}

extension ImageError {
    static let truncated = ImageError.broken(reason: "ends before its image does")
}
