/// HEIC: boxes within boxes (ISO/IEC 14496-12 and 23008-12).
enum HEICHeader {
    /// The brands of still images that HEVC has coded.
    private static let brands: Set = ["heic", "heix", "heim", "heis"]
    /// The most boxes of a file at all levels together: phones write five to ten, and some hundred in the description.
    private static let maximumBoxes = 10_000
    /// The boxes that lead to the sizes: no other box is entered, so the depth does not depend on the file.
    private static let pathToSizes = ["iprp", "ipco"]

    static func read(_ file: inout FileBytes) throws(ImageDecodingError) -> ImageHeader {
        // Of ten bits a colour; those of eight take half.
        var header = ImageHeader(type: .heic, bytesHeldPerPixel: 14)
        guard let length = file.bigEndian(0, 4), length >= 16, length <= 1_024, length <= file.count else {
            throw .unsupported(reason: "is a film or an image of a kind that is not read")
        }
        let names = stride(from: 8, to: length - 3, by: 4).compactMap { $0 == 12 ? nil : file.text($0, 4) }
        guard names.contains(where: brands.contains) else {
            let isAVIF = names.contains("avif") || names.contains("avis")
            throw .unsupported(reason: isAVIF ? "is an AVIF image, which is not read" : "is a film, not an image")
        }
        var boxes = 0
        var hasDescription = false
        var position = 0
        while position < file.count {
            let box = try box(&file, at: position, before: file.count, &boxes)
            header.end = box.end
            if box.name == "meta" {
                hasDescription = true
                // Four bytes of version and flags come first.
                try readDescription(&file, from: box.content + 4, to: box.end, level: 0, &header, &boxes)
            }
            position = box.end
        }
        guard hasDescription, header.width > 0 else { throw .unknownSize }
        return header
    }

    /// Reads the largest size of any picture (`ispe`): for an image made of tiles, that is the size of the whole image.
    ///
    /// `level` says how much of `pathToSizes` has been followed.
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
                // The product of two such numbers fits into an Int.
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
            // A negative number is a length beyond 2^63.
            length = file.bigEndian(position + 8, 8).map { $0 < 0 ? .max : $0 } ?? 0
            content += 8
        }
        guard length >= content - position else { throw .malformedStructure }
        guard length <= end - position else { throw .truncated }
        return (name, content, position + length)
    }
}
