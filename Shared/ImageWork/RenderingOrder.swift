/// The formats that are read, and those of them that are written.
package enum PictureFormat: String, Sendable, CaseIterable {
    case jpeg, png, gif, webp, heic
}

/// What a worker is asked to make of one file.
package struct RenderingOrder: Equatable, Sendable {
    /// Paths; the worker writes the last two.
    package var source: String
    package var full: String
    package var thumbnail: String
    /// What the file is, by its bytes: no other reader is given a try.
    package var format: PictureFormat
    /// Whether it is more than one frame that is to be kept moving.
    package var isAnimated: Bool
    /// The most that one frame may have.
    package var maximumPixels: Int
    /// Sides of the squares that the full picture and the thumbnail are fitted into, in pixels.
    package var fullSide: Int
    package var thumbnailSide: Int
    /// The most that all frames of a moving picture may have together once they are fitted.
    package var animationPixels: Int
    /// Of JPEG and WebP, 1 to 100.
    package var quality: Int
    package var thumbnailQuality: Int
    package var isProgressive: Bool
    /// How long the processor may be taken for, in seconds.
    package var processorSeconds: Int
    /// How much memory of its own the worker may have meanwhile, in bytes.
    package var memory: Int

    package init(
        source: String,
        full: String,
        thumbnail: String,
        format: PictureFormat,
        isAnimated: Bool,
        maximumPixels: Int,
        fullSide: Int,
        thumbnailSide: Int,
        animationPixels: Int,
        quality: Int,
        thumbnailQuality: Int,
        isProgressive: Bool,
        processorSeconds: Int,
        memory: Int
    ) {
        self.source = source
        self.full = full
        self.thumbnail = thumbnail
        self.format = format
        self.isAnimated = isAnimated
        self.maximumPixels = maximumPixels
        self.fullSide = fullSide
        self.thumbnailSide = thumbnailSide
        self.animationPixels = animationPixels
        self.quality = quality
        self.thumbnailQuality = thumbnailQuality
        self.isProgressive = isProgressive
        self.processorSeconds = processorSeconds
        self.memory = memory
    }

    package var encoded: [UInt8] {
        var fields = Fields()
        for text in [source, full, thumbnail, format.rawValue] {
            fields.append(text)
        }
        for number in [
            isAnimated ? 1 : 0, maximumPixels, fullSide, thumbnailSide, animationPixels, quality, thumbnailQuality,
            isProgressive ? 1 : 0, processorSeconds, memory,
        ] {
            fields.append(number)
        }
        return fields.bytes
    }

    /// Nil where the bytes are not an order's.
    package init?(encoded: [UInt8]) {
        var fields = Fields(encoded)
        guard let source = fields.nextText(), let full = fields.nextText(), let thumbnail = fields.nextText(),
            let format = fields.nextText().flatMap(PictureFormat.init), let isAnimated = fields.nextNumber(),
            let maximumPixels = fields.nextNumber(), let fullSide = fields.nextNumber(),
            let thumbnailSide = fields.nextNumber(), let animationPixels = fields.nextNumber(),
            let quality = fields.nextNumber(), let thumbnailQuality = fields.nextNumber(),
            let isProgressive = fields.nextNumber(), let processorSeconds = fields.nextNumber(),
            let memory = fields.nextNumber(), fields.isAtEnd
        else { return nil }
        self.init(
            source: source,
            full: full,
            thumbnail: thumbnail,
            format: format,
            isAnimated: isAnimated != 0,
            maximumPixels: maximumPixels,
            fullSide: fullSide,
            thumbnailSide: thumbnailSide,
            animationPixels: animationPixels,
            quality: quality,
            thumbnailQuality: thumbnailQuality,
            isProgressive: isProgressive != 0,
            processorSeconds: processorSeconds,
            memory: memory
        )
    }
}
