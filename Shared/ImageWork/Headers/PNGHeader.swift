/// The PNG reader: chunks with length and name (PNG, third edition, section 5).
enum PNGHeader {
    private static let metadata: Set = ["eXIf", "tEXt", "zTXt", "iTXt", "tIME"]
    /// The maximum number of chunks; encoders write pixels in chunks of 8 kB or more.
    private static let maximumChunks = 100_000

    static func read(_ file: inout FileBytes) throws(ImageDecodingError) -> ImageHeader {
        var header = ImageHeader(type: .png)
        guard let width = file.bigEndian(16, 4), let height = file.bigEndian(20, 4) else { throw .truncated }
        guard file.bigEndian(8, 4) == 13, file.text(12, 4) == "IHDR", width < 1 << 31, height < 1 << 31 else {
            throw .unknownSize
        }
        (header.width, header.height) = (width, height)
        var pixel = try pixel(&file)
        var position = 8
        var hasPixels = false
        var chunks = 0
        while true {
            guard let length = file.bigEndian(position, 4), let name = file.text(position + 4, 4),
                position + 12 + length <= file.count
            else { throw .truncated }
            chunks += 1
            guard chunks <= maximumChunks else { throw .tooManyParts }
            position += 12 + length
            switch name {
            case "IDAT": hasPixels = true
            case "tRNS": pixel.hasAlpha = true
            case "IEND":
                guard hasPixels else { throw .broken(reason: "contains no picture") }
                header.end = position
                header.bytesHeldPerPixel = pixel.bytesHeld
                return header
            default: header.hasMetadata = header.hasMetadata || metadata.contains(name)
            }
        }
    }

    private static func pixel(_ file: inout FileBytes) throws(ImageDecodingError) -> Pixel {
        guard let depth = file.byte(24), let colours = file.byte(25), let interlace = file.byte(28) else {
            throw .truncated
        }
        // The colour type has flags in bit 1 (colour) and bit 2 (transparency).
        return Pixel(
            isDeep: depth > 8,
            isGrey: colours & 2 == 0,
            hasAlpha: colours & 4 != 0,
            isInterlaced: interlace != 0
        )
    }

    private struct Pixel {
        var isDeep: Bool
        var isGrey: Bool
        var hasAlpha: Bool
        var isInterlaced: Bool

        /// The bytes per pixel that the decoder holds: interlaced images are decoded whole, and deep or transparent
        /// ones are buffered in many wide rows.
        var bytesHeld: Int {
            guard isDeep || hasAlpha || isInterlaced else { return 0 }
            return ((isGrey ? 1 : 3) + (hasAlpha ? 1 : 0)) * (isDeep ? 2 : 1) + 2
        }
    }
}
