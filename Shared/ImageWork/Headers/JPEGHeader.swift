/// The JPEG reader: segments with markers, and coded pixels between them (ITU-T T.81, annex B).
enum JPEGHeader {
    /// The maximum number of scans of a progressive image.
    ///
    /// Encoders write about ten, and the decoder passes through the whole image for each.
    private static let maximumScans = 100
    /// The maximum number of segments; a colour profile may take 255, and a large EXIF block some more.
    private static let maximumSegments = 10_000

    static func read(_ file: inout FileBytes) throws(ImageDecodingError) -> ImageHeader {
        var header = ImageHeader(type: .jpeg)
        var position = 2
        var (segments, scans) = (0, 0)
        var frame = Frame()
        while true {
            let marker = try marker(&file, &position)
            switch marker {
            case 0xD9:
                guard scans > 0 else { throw .broken(reason: "contains no picture") }
                header.end = position
                return header
            case 0x01, 0xD0...0xD7: continue
            case 0x00, 0xD8: throw .broken(reason: "has a picture inside another picture")
            default: break
            }
            segments += 1
            guard segments <= maximumSegments else { throw .tooManyParts }
            guard let length = file.bigEndian(position, 2), length >= 2, position + length <= file.count else {
                throw .truncated
            }
            switch marker {
            // C4, C8 and CC are not frame markers.
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                frame = try readFrame(&file, at: position, marker: marker, &header)
            case 0xDA:
                guard header.width > 0 else { throw .broken(reason: "has pixels before its size") }
                scans += 1
                guard scans <= maximumScans else { throw .broken(reason: "has more than \(maximumScans) scans") }
                if scans == 1 { header.bytesHeldPerPixel = frame.bytesHeldPerPixel(firstScan: file.byte(position + 2)) }
                position = try endOfScan(&file, from: position + length)
                continue
            default:
                header.hasMetadata = header.hasMetadata || isMetadata(&file, at: position, marker: marker)
            }
            position += length
        }
    }

    /// Reads a marker, which any number of FF bytes may precede, and moves after it.
    private static func marker(_ file: inout FileBytes, _ position: inout Int) throws(ImageDecodingError) -> UInt8 {
        guard let first = file.byte(position) else { throw .truncated }
        guard first == 0xFF else { throw .malformedStructure }
        while let byte = file.byte(position) {
            position += 1
            if byte != 0xFF { return byte }
        }
        throw .truncated
    }

    private static func readFrame(
        _ file: inout FileBytes,
        at position: Int,
        marker: UInt8,
        _ header: inout ImageHeader
    ) throws(ImageDecodingError) -> Frame {
        guard header.width == 0 else { throw .broken(reason: "contains its size twice") }
        guard let precision = file.byte(position + 2), let height = file.bigEndian(position + 3, 2),
            let width = file.bigEndian(position + 5, 2), let components = file.byte(position + 7)
        else { throw .truncated }
        // These are baseline, extended and progressive; the last two also with arithmetic coding.
        guard [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker), precision == 8, [1, 3, 4].contains(components) else {
            throw .unsupported(
                reason: "is an unsupported JPEG: lossless, hierarchical, or not of 8 bits per colour"
            )
        }
        guard width > 0, height > 0 else { throw .unknownSize }
        (header.width, header.height) = (width, height)
        var frame = Frame(components: components, isProgressive: marker == 0xC2 || marker == 0xCA)
        for component in 0..<Int(components) {
            guard let sampling = file.byte(position + 9 + component * 3) else { throw .truncated }
            frame.samplings.append((Int(sampling >> 4), Int(sampling & 15)))
        }
        return frame
    }

    /// The properties that decide whether the decoder holds the coefficients of the whole image.
    private struct Frame {
        var components: UInt8 = 0
        var isProgressive = false
        /// The sampling factors of each component, horizontal and vertical.
        var samplings: [(across: Int, down: Int)] = []

        /// Returns 0 if the first scan contains all components; otherwise two bytes per coefficient, and some for the
        /// edges.
        func bytesHeldPerPixel(firstScan: UInt8?) -> Int {
            guard isProgressive || firstScan != components else { return 0 }
            let finest = max(1, (samplings.map(\.across).max() ?? 1) * (samplings.map(\.down).max() ?? 1))
            let samples = samplings.reduce(0) { $0 + $1.across * $1.down }
            return (samples * 18 + finest * 8 - 1) / (finest * 8)
        }
    }

    /// Returns the end of coded pixels, which is the next marker other than an escaped FF (FF 00) or a restart (D0 to
    /// D7).
    private static func endOfScan(_ file: inout FileBytes, from start: Int) throws(ImageDecodingError) -> Int {
        var position = start
        while let next = file.position(of: 0xFF, from: position) {
            guard let marker = file.byte(next + 1) else { throw .truncated }
            switch marker {
            case 0x00, 0xD0...0xD7: position = next + 2
            case 0xFF: position = next + 1
            default: return next
            }
        }
        throw .truncated
    }

    /// Returns whether a segment is metadata, which all are but JFIF (APP0), colour profile (APP2) and Adobe colours
    /// (APP14).
    private static func isMetadata(_ file: inout FileBytes, at position: Int, marker: UInt8) -> Bool {
        switch marker {
        case 0xE0: file.text(position + 2, 4) != "JFIF"
        case 0xE2: file.text(position + 2, 11) != "ICC_PROFILE"
        case 0xEE: file.text(position + 2, 5) != "Adobe"
        case 0xE1...0xEF, 0xFE: true
        default: false
        }
    }
}
