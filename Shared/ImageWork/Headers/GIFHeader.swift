/// The GIF reader: a screen, then blocks of frames and extensions (GIF89a specification).
enum GIFHeader {
    /// The application extensions that contain the number of loops, named by the browsers that introduced them.
    private static let loops = ["NETSCAPE2.0", "ANIMEXTS1.0"]
    /// The maximum number of extensions; a file has one for each frame, and a few for the animation.
    private static let maximumExtensions = 10_000

    static func read(_ file: inout FileBytes, maximumFrames: Int) throws(ImageDecodingError) -> ImageHeader {
        guard let width = file.littleEndian(6, 2), let height = file.littleEndian(8, 2), let flags = file.byte(10)
        else {
            throw .truncated
        }
        var header = ImageHeader(type: .gif, width: width, height: height, frames: 0, bytesHeldPerPixel: 10)
        var position = 13 + paletteLength(flags)
        var extensions = 0
        while true {
            switch file.byte(position) {
            case 0x2C: try readFrame(&file, &position, &header)
            case 0x21:
                extensions += 1
                guard extensions <= maximumExtensions else { throw .tooManyParts }
                try readExtension(&file, &position, &header)
            case 0x3B:
                guard header.frames > 0 else { throw .broken(reason: "contains no picture") }
                header.end = position + 1
                return header
            case nil: throw .truncated
            default: throw .malformedStructure
            }
            guard header.frames <= maximumFrames else { throw .tooManyFrames }
        }
    }

    private static func readFrame(
        _ file: inout FileBytes,
        _ position: inout Int,
        _ header: inout ImageHeader
    ) throws(ImageDecodingError) {
        guard let left = file.littleEndian(position + 1, 2), let top = file.littleEndian(position + 3, 2),
            let width = file.littleEndian(position + 5, 2), let height = file.littleEndian(position + 7, 2),
            let flags = file.byte(position + 9)
        else { throw .truncated }
        header.frames += 1
        // A frame may exceed the screen; then decoders enlarge the screen.
        header.width = max(header.width, left + width)
        header.height = max(header.height, top + height)
        position += 10 + paletteLength(flags) + 1
        try skipBlocks(&file, &position)
    }

    private static func readExtension(
        _ file: inout FileBytes,
        _ position: inout Int,
        _ header: inout ImageHeader
    ) throws(ImageDecodingError) {
        switch file.byte(position + 1) {
        case 0xF9: break
        case 0xFF: header.hasMetadata = header.hasMetadata || !loops.contains(file.text(position + 3, 11) ?? "")
        default: header.hasMetadata = true
        }
        position += 2
        try skipBlocks(&file, &position)
    }

    /// Skips data blocks of at most 255 bytes, which end with an empty block.
    private static func skipBlocks(_ file: inout FileBytes, _ position: inout Int) throws(ImageDecodingError) {
        while let length = file.byte(position) {
            position += 1 + Int(length)
            if length == 0 { return }
        }
        throw .truncated
    }

    private static func paletteLength(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
}
