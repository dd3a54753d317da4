/// HEIC: boxes within boxes (ISO/IEC 14496-12 and 23008-12).
enum HEICHeader {
    /// The brands of still images that HEVC has coded.
    private static let brands: Set = ["heic", "heix", "heim", "heis"]
    /// Files of telephones have five to ten, and some hundred within the one that describes the image.
    private static let mostBoxes = 10_000

    static func read(_ file: inout FileBytes) throws(ImageError) -> ImageHeader {
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
        var hasDescription = false
        try forEachBox(&file, from: 0, to: file.count) { (file, name, start, end) throws(ImageError) in
            header.end = end
            guard name == "meta" else { return }
            hasDescription = true
            try readDescription(&file, from: start + 4, to: end, &header)
        }
        guard hasDescription, header.width > 0 else { throw .broken(reason: "does not say how large it is") }
        return header
    }

    /// The largest size that any of its pictures has, in the properties (`iprp` / `ipco` / `ispe`): of an image that is made of
    /// tiles it is the image's own.
    private static func readDescription(
        _ file: inout FileBytes,
        from start: Int,
        to end: Int,
        _ header: inout ImageHeader
    ) throws(ImageError) {
        try forEachBox(&file, from: start, to: end) { (file, name, start, end) throws(ImageError) in
            switch name {
            case "iprp", "ipco": try readDescription(&file, from: start, to: end, &header)
            case "ispe":
                guard let width = file.bigEndian(start + 4, 4), let height = file.bigEndian(start + 8, 4) else {
                    throw .truncated
                }
                if width.multipliedReportingOverflow(by: height).partialValue > header.width * header.height {
                    (header.width, header.height) = (width, height)
                }
            default: break
            }
        }
    }

    private static func forEachBox(
        _ file: inout FileBytes,
        from start: Int,
        to end: Int,
        _ body: (inout FileBytes, String, Int, Int) throws(ImageError) -> Void
    ) throws(ImageError) {
        var position = start
        var boxes = 0
        while position < end {
            boxes += 1
            guard let short = file.bigEndian(position, 4), let name = file.text(position + 4, 4) else {
                throw .truncated
            }
            var (content, length) = (position + 8, short)
            if short == 0 {
                length = end - position
            } else if short == 1 {
                // Longer than a file may be is as good as any that reaches beyond it.
                length = file.bigEndian(position + 8, 8).map { max(0, $0) } ?? 0
                content += 8
            }
            guard length >= content - position, boxes <= mostBoxes else {
                throw .broken(reason: "is damaged between the parts that it is made of")
            }
            guard length <= end - position else { throw .truncated }
            try body(&file, name, content, position + length)
            position += length
        }
    }
}
