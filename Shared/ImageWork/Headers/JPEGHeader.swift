/// JPEG: segments behind markers, and between them the coded pixels (ITU-T T.81, annex B).
enum JPEGHeader {
    /// Of progressive images.
    ///
    /// Encoders make about ten, and each costs the decoder a walk through the whole image.
    private static let maximumScans = 100
    /// A colour profile may take 255 segments, and a large EXIF block some more.
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
                guard scans > 0 else { throw .broken(reason: "has no picture in it") }
                header.end = position
                return header
            case 0x01, 0xD0...0xD7: continue
            case 0x00, 0xD8: throw .broken(reason: "has a picture that begins within another")
            default: break
            }
            segments += 1
            guard segments <= maximumSegments else { throw .tooManyParts }
            guard let length = file.bigEndian(position, 2), length >= 2, position + length <= file.count else {
                throw .truncated
            }
            switch marker {
            // C4, C8 and CC are no frames.
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                frame = try readFrame(&file, at: position, marker: marker, &header)
            case 0xDA:
                guard header.width > 0 else { throw .broken(reason: "has pixels before their description") }
                scans += 1
                guard scans <= maximumScans else { throw .broken(reason: "is made of more than \(maximumScans) scans") }
                if scans == 1 { header.bytesHeldPerPixel = frame.bytesHeldPerPixel(firstScan: file.byte(position + 2)) }
                position = try endOfScan(&file, from: position + length)
                continue
            default:
                header.hasMetadata = header.hasMetadata || isMetadata(&file, at: position, marker: marker)
            }
            position += length
        }
    }

    /// Reads a marker, before which there may be any number of FF, and moves behind it.
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
        guard header.width == 0 else { throw .broken(reason: "says twice how large it is") }
        guard let precision = file.byte(position + 2), let height = file.bigEndian(position + 3, 2),
            let width = file.bigEndian(position + 5, 2), let components = file.byte(position + 7)
        else { throw .truncated }
        // Baseline, extended and progressive, the latter two also in arithmetic coding.
        guard [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker), precision == 8, [1, 3, 4].contains(components) else {
            throw .unsupported(
                reason: "is a JPEG of a rare kind: lossless, hierarchical, or not of eight bits a colour"
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

    /// What decides whether the decoder has to keep the coefficients of the whole image.
    private struct Frame {
        var components: UInt8 = 0
        var isProgressive = false
        /// How finely each component is sampled, across and down.
        var samplings: [(across: Int, down: Int)] = []

        /// It keeps none where one scan has all of the image; otherwise two bytes each, and some at the edges.
        func bytesHeldPerPixel(firstScan: UInt8?) -> Int {
            guard isProgressive || firstScan != components else { return 0 }
            let finest = max(1, (samplings.map(\.across).max() ?? 1) * (samplings.map(\.down).max() ?? 1))
            let samples = samplings.reduce(0) { $0 + $1.across * $1.down }
            return (samples * 18 + finest * 8 - 1) / (finest * 8)
        }
    }

    /// Coded pixels end at a marker; FF 00 is a byte of theirs, and restarts (D0 to D7) lie among them.
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

    /// What there may be: JFIF (APP0), a colour profile (APP2) and Adobe's word on colours (APP14).
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
