/// PNG: chunks, each with its length and name (PNG, third edition, section 5).
enum PNGHeader {
    private static let metadata: Set = ["eXIf", "tEXt", "zTXt", "iTXt", "tIME"]

    static func read(_ file: inout FileBytes) throws(ImageError) -> ImageHeader {
        var header = ImageHeader(type: .png)
        guard let width = file.bigEndian(16, 4), let height = file.bigEndian(20, 4) else { throw .truncated }
        guard file.bigEndian(8, 4) == 13, file.text(12, 4) == "IHDR", width < 1 << 31, height < 1 << 31 else {
            throw .broken(reason: "does not say how large it is")
        }
        (header.width, header.height) = (width, height)
        var position = 8
        var hasPixels = false
        while true {
            guard let length = file.bigEndian(position, 4), let name = file.text(position + 4, 4),
                position + 12 + length <= file.count
            else { throw .truncated }
            position += 12 + length
            switch name {
            case "IDAT": hasPixels = true
            case "IEND":
                guard hasPixels else { throw .broken(reason: "has no picture in it") }
                header.end = position
                return header
            default: header.hasMetadata = header.hasMetadata || metadata.contains(name)
            }
        }
    }
}
