/// The WebP reader: RIFF chunks (RFC 9649, section 2).
enum WebPHeader {
    /// The maximum number of chunks; a file has one for each frame and a few more.
    private static let maximumChunks = 10_000

    static func read(_ file: inout FileBytes, maximumFrames: Int) throws(ImageDecodingError) -> ImageHeader {
        guard let length = file.littleEndian(4, 4), 8 + length <= file.count else { throw .truncated }
        var header = ImageHeader(type: .webp, frames: 0, end: 8 + length, bytesHeldPerPixel: 9)
        var pictures = 0
        var chunks = 0
        var position = 12
        while position + 8 <= header.end {
            guard let name = file.text(position, 4), let size = file.littleEndian(position + 4, 4),
                position + 8 + size <= header.end
            else { throw .truncated }
            chunks += 1
            guard chunks <= maximumChunks else { throw .tooManyParts }
            let data = position + 8
            switch name {
            case "VP8X": grow(&header, file.littleEndian(data + 4, 3), file.littleEndian(data + 7, 3), adding: 1)
            case "ANMF":
                header.frames += 1
                grow(&header, file.littleEndian(data + 6, 3), file.littleEndian(data + 9, 3), adding: 1)
            case "VP8 ":
                pictures += 1
                guard file.bytes(data + 3, 3) == [0x9D, 0x01, 0x2A] else { throw .unknownSize }
                let (width, height) = (file.littleEndian(data + 6, 2), file.littleEndian(data + 8, 2))
                grow(&header, width.map { $0 & 0x3FFF }, height.map { $0 & 0x3FFF }, adding: 0)
            case "VP8L":
                pictures += 1
                guard file.byte(data) == 0x2F, let bits = file.littleEndian(data + 1, 4) else { throw .unknownSize }
                grow(&header, bits & 0x3FFF, bits >> 14 & 0x3FFF, adding: 1)
            case "EXIF", "XMP ": header.hasMetadata = true
            default: break
            }
            guard header.frames <= maximumFrames else { throw .tooManyFrames }
            position = data + size + size % 2
        }
        guard pictures + header.frames > 0 else { throw .broken(reason: "contains no picture") }
        // For animations, the decoder also holds the canvas before and after a frame.
        if header.frames > 1 { header.bytesHeldPerPixel = 15 }
        header.frames = max(header.frames, 1)
        return header
    }

    /// Grows the header to the size of the canvas or of a picture, so that the largest size counts.
    private static func grow(_ header: inout ImageHeader, _ width: Int?, _ height: Int?, adding offset: Int) {
        header.width = max(header.width, (width ?? 0) + offset)
        header.height = max(header.height, (height ?? 0) + offset)
    }
}
