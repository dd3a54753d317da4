/// The HEIC reader: nested boxes (ISO/IEC 14496-12 and 23008-12).
enum HEICHeader {
    /// The brands of still images that are coded with HEVC.
    private static let brands: Set = ["heic", "heix", "heim", "heis"]
    /// The maximum number of boxes at all levels together; phones write five to ten, and about a hundred in the
    /// description.
    private static let maximumBoxes = 10_000
    /// The path to the boxes with sizes; no other box is entered, so the nesting depth does not depend on the file.
    private static let pathToSizes = ["iprp", "ipco"]

    static func read(_ file: inout FileBytes) throws(ImageDecodingError) -> ImageHeader {
        // The value for 10 bits per colour; images with 8 bits need half as much.
        var header = ImageHeader(type: .heic, bytesHeldPerPixel: 14)
        guard let length = file.bigEndian(0, 4), length >= 16, length <= 1_024, length <= file.count else {
            throw .unsupported(reason: "is a video or an image of an unsupported format")
        }
        let names = stride(from: 8, to: length - 3, by: 4).compactMap { $0 == 12 ? nil : file.text($0, 4) }
        guard names.contains(where: brands.contains) else {
            let isAVIF = names.contains("avif") || names.contains("avis")
            throw .unsupported(reason: isAVIF ? "is an AVIF image, which is not supported" : "is a video, not an image")
        }
        var boxes = 0
        var hasDescription = false
        var position = 0
        while position < file.count {
            let box = try box(&file, at: position, before: file.count, &boxes)
            header.end = box.end
            if box.name == "meta" {
                hasDescription = true
                // The content starts with four bytes of version and flags.
                try readDescription(&file, from: box.content + 4, to: box.end, level: 0, &header, &boxes)
            }
            position = box.end
        }
        guard hasDescription, header.width > 0 else { throw .unknownSize }
        return header
    }

    /// Reads the largest size in the description (`ispe`); for an image of tiles that is the size of the whole image.
    ///
    /// `level` is the number of boxes of `pathToSizes` that were entered.
    private static func readDescription(
        _ file: inout FileBytes,
        from start: Int,
        to end: Int,
        level: Int,
        _ header: inout ImageHeader,
        _ boxes: inout Int
    ) throws(ImageDecodingError) {
        var position = start
        while position < end {
            let box = try box(&file, at: position, before: end, &boxes)
            if level < pathToSizes.count {
                if box.name == pathToSizes[level] {
                    try readDescription(&file, from: box.content, to: box.end, level: level + 1, &header, &boxes)
                }
            } else if box.name == "ispe" {
                guard let width = file.bigEndian(box.content + 4, 4), let height = file.bigEndian(box.content + 8, 4)
                else { throw .truncated }
                // The limit ensures that the product fits into an Int.
                guard width < 1 << 31, height < 1 << 31 else { throw .tooManyPixels }
                if width * height > header.width * header.height { (header.width, header.height) = (width, height) }
            }
            position = box.end
        }
    }

    private static func box(
        _ file: inout FileBytes,
        at position: Int,
        before end: Int,
        _ boxes: inout Int
    ) throws(ImageDecodingError) -> (name: String, content: Int, end: Int) {
        boxes += 1
        guard boxes <= maximumBoxes else { throw .tooManyParts }
        guard let short = file.bigEndian(position, 4), let name = file.text(position + 4, 4) else { throw .truncated }
        var (content, length) = (position + 8, short)
        if short == 0 {
            length = end - position
        } else if short == 1 {
            // A negative number is a length of at least 2^63.
            length = file.bigEndian(position + 8, 8).map { $0 < 0 ? .max : $0 } ?? 0
            content += 8
        }
        guard length >= content - position else { throw .malformedStructure }
        guard length <= end - position else { throw .truncated }
        return (name, content, position + length)
    }
}
