import ImageWork

/// Removes metadata that libvips adds to files.
///
/// Its JPEG and WebP writers either omit the colour profile or add an EXIF block.
enum MetadataFilter {
    static func filter(_ file: [UInt8], _ format: PictureFormat) -> [UInt8] {
        switch format {
        case .jpeg: jpeg(file)
        case .webp: webp(file)
        case .png, .gif, .heic: file
        }
    }

    /// Keeps only the application segments of JFIF, the colour profile and Adobe, and removes comments.
    private static func jpeg(_ file: [UInt8]) -> [UInt8] {
        var output = Array(file.prefix(2))
        var position = 2
        while position + 4 <= file.count, file[position] == 0xFF, file[position + 1] != 0xDA {
            let marker = file[position + 1]
            let length = 2 + Int(file[position + 2]) << 8 + Int(file[position + 3])
            let segment = file[position..<min(position + length, file.count)]
            let content = segment.dropFirst(4)
            let isKept =
                switch marker {
                case 0xE0: content.starts(with: "JFIF".utf8)
                case 0xE2: content.starts(with: "ICC_PROFILE".utf8)
                case 0xEE: content.starts(with: "Adobe".utf8)
                case 0xE1...0xEF, 0xFE: false
                default: true
                }
            if isKept { output += segment }
            position += length
        }
        return output + file.dropFirst(position)
    }

    /// Removes the chunks of EXIF and XMP, and their flags in the first chunk.
    private static func webp(_ file: [UInt8]) -> [UInt8] {
        var output = Array(file.prefix(12))
        var position = 12
        while position + 8 <= file.count {
            let size = (0..<4).reduce(0) { $0 | Int(file[position + 4 + $1]) << ($1 * 8) }
            let end = min(position + 8 + size + size % 2, file.count)
            let name = file[position..<position + 4]
            if name.elementsEqual("VP8X".utf8), position + 8 < end {
                var chunk = Array(file[position..<end])
                // RFC 9649, section 2.7: bit 3 is EXIF, bit 2 XMP.
                chunk[8] &= ~0b1100
                output += chunk
            } else if !name.elementsEqual("EXIF".utf8), !name.elementsEqual("XMP ".utf8) {
                output += file[position..<end]
            }
            position = end
        }
        let length = output.count - 8
        for index in 0..<4 where output.count >= 8 {
            output[4 + index] = UInt8(truncatingIfNeeded: length >> (index * 8))
        }
        return output
    }
}
