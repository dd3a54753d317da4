/// What a worker says: once that it is ready, then one answer for each order.
package enum RenderingAnswer: Equatable, Sendable {
    case ready
    case made(Rendering)
    /// The file has more pixels than the order allows.
    case tooManyPixels
    /// The file cannot be read; why, in the decoder's words.
    case broken(String)
    /// The system has no reader for this format.
    case unreadable
    /// What was made could not be written: the number of the system's error.
    case notWritten(Int32)

    package var encoded: [UInt8] {
        var fields = Fields()
        switch self {
        case .ready: fields.append("ready")
        case .made(let rendering):
            fields.append("made")
            rendering.append(to: &fields)
        case .tooManyPixels: fields.append("tooManyPixels")
        case .broken(let reason):
            fields.append("broken")
            fields.append(reason)
        case .unreadable: fields.append("unreadable")
        case .notWritten(let number):
            fields.append("notWritten")
            fields.append(Int(number))
        }
        return fields.bytes
    }

    /// Nil where the bytes are not an answer's.
    package init?(encoded: [UInt8]) {
        var fields = Fields(encoded)
        switch fields.nextText() {
        case "ready": self = .ready
        case "made":
            guard let rendering = Rendering(&fields) else { return nil }
            self = .made(rendering)
        case "tooManyPixels": self = .tooManyPixels
        case "broken":
            guard let reason = fields.nextText() else { return nil }
            self = .broken(reason)
        case "unreadable": self = .unreadable
        case "notWritten":
            guard let number = fields.nextNumber().flatMap({ Int32(exactly: $0) }) else { return nil }
            self = .notWritten(number)
        default: return nil
        }
        guard fields.isAtEnd else { return nil }
    }
}

/// What a worker has made of a file.
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

    /// The file's own size in pixels, turned the right way up.
    package var width: Int
    package var height: Int
    package var full: Picture
    package var thumbnail: Picture
    /// A copy of at most 64 pixels a side: red, green and blue of each pixel, row by row.
    package var sampleWidth: Int
    package var sampleHeight: Int
    package var sample: [UInt8]

    package init(
        width: Int,
        height: Int,
        full: Picture,
        thumbnail: Picture,
        sampleWidth: Int,
        sampleHeight: Int,
        sample: [UInt8]
    ) {
        self.width = width
        self.height = height
        self.full = full
        self.thumbnail = thumbnail
        self.sampleWidth = sampleWidth
        self.sampleHeight = sampleHeight
        self.sample = sample
    }

    fileprivate func append(to fields: inout Fields) {
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
        guard let width = fields.nextNumber(), let height = fields.nextNumber(), let full = Picture(&fields),
            let thumbnail = Picture(&fields), let sampleWidth = fields.nextNumber(),
            let sampleHeight = fields.nextNumber(), let sample = fields.next(), width > 0, height > 0,
            (1...64).contains(sampleWidth), (1...64).contains(sampleHeight),
            sample.count == sampleWidth * sampleHeight * 3
        else { return nil }
        self.init(
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
        guard let format = fields.nextText().flatMap(PictureFormat.init), let width = fields.nextNumber(),
            let height = fields.nextNumber(), width > 0, height > 0
        else { return nil }
        self.init(format: format, width: width, height: height)
    }
}
