import ImageWork

/// Takes out of a file that was just written what libvips puts into it unasked.
///
/// Its writers of JPEG and WebP either leave the colour profile away or make an EXIF block of their own.
enum MetadataFilter {
    static func filter(_ file: [UInt8], _ format: PictureFormat) -> [UInt8] {
        switch format {
        case .jpeg: jpeg(file)
        case .webp: webp(file)
        case .png, .gif, .heic: file
        }
    }

    /// Keeps of the application segments JFIF's, the colour profile's and Adobe's, and no comment.
    private static func jpeg(_ file: [UInt8]) -> [UInt8] {
        var kept = Array(file.prefix(2))
        var position = 2
        // Application segments and comments come before the coded pixels, up to the first start of scan.
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
            if isKept { kept += segment }
            position += length
        }
        return kept + file.dropFirst(position)
    }

    /// Leaves the chunks for EXIF and XMP out, and says in the first chunk that they are not there.
    private static func webp(_ file: [UInt8]) -> [UInt8] {
        var kept = Array(file.prefix(12))
        var position = 12
        while position + 8 <= file.count {
            let size = (0..<4).reduce(0) { $0 | Int(file[position + 4 + $1]) << ($1 * 8) }
            let end = min(position + 8 + size + size % 2, file.count)
            let name = file[position..<position + 4]
            if name.elementsEqual("VP8X".utf8), position + 8 < end {
                var chunk = Array(file[position..<end])
                // RFC 9649, section 2.7: bit 3 is EXIF, bit 2 XMP.
                chunk[8] &= ~0b1100
                kept += chunk
            } else if !name.elementsEqual("EXIF".utf8), !name.elementsEqual("XMP ".utf8) {
                kept += file[position..<end]
            }
            position = end
        }
        let length = kept.count - 8
        for index in 0..<4 where kept.count >= 8 {
            kept[4 + index] = UInt8(truncatingIfNeeded: length >> (index * 8))
        }
        return kept
    }
}
