/// The output of a worker: `ready` once, then one response for each request.
///
/// A compromised worker may send anything, so every value is checked when it is decoded.
package enum RenderResponse: Equatable, Sendable {
    /// The worker accepts requests; `missing` names the confinement mechanisms that the kernel lacks.
    case ready(missing: [String])
    case rendered(Rendering)
    /// The file needs more memory than the request gives, within its `maximumMemory`; in bytes.
    case needs(memory: Int)
    case rejected(ImageDecodingError)
    /// A picture could not be written; the value is `errno`.
    case notWritten(Int32)

    package var encoded: [UInt8] {
        var fields = Fields()
        switch self {
        case .ready(let missing):
            fields.append("ready")
            for name in missing {
                fields.append(name)
            }
        case .rendered(let rendering):
            fields.append("made")
            rendering.append(to: &fields)
        case .needs(let memory):
            fields.append("needs")
            fields.append(memory)
        case .rejected(let decodingError):
            let (kind, reason) = decodingError.parts
            fields.append(kind)
            fields.append(reason)
        case .notWritten(let number):
            fields.append("notWritten")
            fields.append(Int(number))
        }
        return fields.bytes
    }

    package init?(encoded: [UInt8]) {
        var fields = Fields(encoded)
        guard let kind = fields.nextText() else { return nil }
        switch kind {
        case "ready":
            var missing: [String] = []
            while !fields.isAtEnd {
                guard missing.count < 4, let name = fields.nextReason() else { return nil }
                missing.append(name)
            }
            self = .ready(missing: missing)
        case "made":
            guard let rendering = Rendering(&fields) else { return nil }
            self = .rendered(rendering)
        case "needs":
            guard let memory = fields.nextNumber() else { return nil }
            self = .needs(memory: memory)
        case "notWritten":
            guard let number = fields.nextNumber().flatMap({ Int32(exactly: $0) }) else { return nil }
            self = .notWritten(number)
        default:
            guard let reason = fields.nextReason(), let decodingError = ImageDecodingError(kind: kind, reason: reason)
            else {
                return nil
            }
            self = .rejected(decodingError)
        }
        guard fields.isAtEnd else { return nil }
    }
}

extension ImageDecodingError {
    fileprivate var parts: (kind: String, reason: String) {
        switch self {
        case .unsupported(let reason): ("unsupported", reason)
        case .tooManyPixels: ("tooManyPixels", "")
        case .tooManyFrames: ("tooManyFrames", "")
        case .broken(let reason): ("broken", reason)
        }
    }

    fileprivate init?(kind: String, reason: String) {
        switch kind {
        case "unsupported": self = .unsupported(reason: reason)
        case "tooManyPixels": self = .tooManyPixels
        case "tooManyFrames": self = .tooManyFrames
        case "broken": self = .broken(reason: reason)
        default: return nil
        }
    }
}

extension Fields {
    /// Returns a number of pixels small enough that the product of two fits into an Int.
    fileprivate mutating func nextSide() -> Int? { nextNumber().flatMap { (1..<1 << 31).contains($0) ? $0 : nil } }

    /// Returns a short text of printable ASCII, because it is shown to users.
    fileprivate mutating func nextReason() -> String? {
        guard let text = nextText(), text.utf8.count <= 300, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        return text
    }
}

package struct Rendering: Equatable, Sendable {
    package struct Picture: Equatable, Sendable {
        package var format: PictureFormat
        package var width: Int
        package var height: Int

        package init(format: PictureFormat, width: Int, height: Int) {
            self.format = format
            self.width = width
            self.height = height
        }
    }

    package var type: PictureFormat
    package var isAnimated: Bool
    /// The size of the source in pixels, after the orientation is applied.
    package var width: Int
    package var height: Int
    package var full: Picture
    package var thumbnail: Picture
    /// A copy of at most 64 pixels a side, as red, green and blue of each pixel, row by row.
    package var sampleWidth: Int
    package var sampleHeight: Int
    package var sample: [UInt8]

    package init(
        type: PictureFormat,
        isAnimated: Bool,
        width: Int,
        height: Int,
        full: Picture,
        thumbnail: Picture,
        sampleWidth: Int,
        sampleHeight: Int,
        sample: [UInt8]
    ) {
        self.type = type
        self.isAnimated = isAnimated
        self.width = width
        self.height = height
        self.full = full
        self.thumbnail = thumbnail
        self.sampleWidth = sampleWidth
        self.sampleHeight = sampleHeight
        self.sample = sample
    }

    fileprivate func append(to fields: inout Fields) {
        fields.append(type.rawValue)
        fields.append(isAnimated ? 1 : 0)
        fields.append(width)
        fields.append(height)
        for picture in [full, thumbnail] {
            fields.append(picture.format.rawValue)
            fields.append(picture.width)
            fields.append(picture.height)
        }
        fields.append(sampleWidth)
        fields.append(sampleHeight)
        fields.append(sample)
    }

    fileprivate init?(_ fields: inout Fields) {
        guard let type = fields.nextText().flatMap(PictureFormat.init), let isAnimated = fields.nextNumber(),
            let width = fields.nextSide(), let height = fields.nextSide(), let full = Picture(&fields),
            let thumbnail = Picture(&fields), let sampleWidth = fields.nextNumber(),
            let sampleHeight = fields.nextNumber(), let sample = fields.next(),
            (1...64).contains(sampleWidth), (1...64).contains(sampleHeight),
            sample.count == sampleWidth * sampleHeight * 3
        else { return nil }
        self.init(
            type: type,
            isAnimated: isAnimated != 0,
            width: width,
            height: height,
            full: full,
            thumbnail: thumbnail,
            sampleWidth: sampleWidth,
            sampleHeight: sampleHeight,
            sample: sample
        )
    }
}

extension Rendering.Picture {
    fileprivate init?(_ fields: inout Fields) {
        guard let format = fields.nextText().flatMap(PictureFormat.init), let width = fields.nextSide(),
            let height = fields.nextSide()
        else { return nil }
        self.init(format: format, width: width, height: height)
    }
}
