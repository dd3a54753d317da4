/// The formats that are read, and those of them that are written.
package enum PictureFormat: String, Sendable, CaseIterable {
    case jpeg, png, gif, webp, heic
}

/// What a worker makes of one file.
///
/// Three descriptors travel with it: the file, and the empty files for the full picture and the thumbnail. A worker opens
/// nothing itself.
package struct RenderRequest: Equatable, Sendable {
    /// How many descriptors travel with an order.
    package static let descriptors = 3

    /// The most pixels that one frame may have.
    package var maximumPixels: Int
    /// The most frames that a moving image may have.
    package var maximumFrames: Int
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
    /// The most that the worker may ask for in place of `memory`, in bytes.
    package var maximumMemory: Int

    package init(
        maximumPixels: Int,
        maximumFrames: Int,
        fullSide: Int,
        thumbnailSide: Int,
        animationPixels: Int,
        quality: Int,
        thumbnailQuality: Int,
        isProgressive: Bool,
        processorSeconds: Int,
        memory: Int,
        maximumMemory: Int
    ) {
        self.maximumPixels = maximumPixels
        self.maximumFrames = maximumFrames
        self.fullSide = fullSide
        self.thumbnailSide = thumbnailSide
        self.animationPixels = animationPixels
        self.quality = quality
        self.thumbnailQuality = thumbnailQuality
        self.isProgressive = isProgressive
        self.processorSeconds = processorSeconds
        self.memory = memory
        self.maximumMemory = maximumMemory
    }

    package var encoded: [UInt8] {
        var fields = Fields()
        for number in [
            maximumPixels, maximumFrames, fullSide, thumbnailSide, animationPixels, quality, thumbnailQuality,
            isProgressive ? 1 : 0, processorSeconds, memory, maximumMemory,
        ] {
            fields.append(number)
        }
        return fields.bytes
    }

    /// Nil where the bytes are not an order's.
    package init?(encoded: [UInt8]) {
        var fields = Fields(encoded)
        guard let maximumPixels = fields.nextNumber(), let maximumFrames = fields.nextNumber(),
            let fullSide = fields.nextNumber(), let thumbnailSide = fields.nextNumber(),
            let animationPixels = fields.nextNumber(), let quality = fields.nextNumber(),
            let thumbnailQuality = fields.nextNumber(), let isProgressive = fields.nextNumber(),
            let processorSeconds = fields.nextNumber(), let memory = fields.nextNumber(),
            let maximumMemory = fields.nextNumber(), fields.isAtEnd
        else { return nil }
        self.init(
            maximumPixels: maximumPixels,
            maximumFrames: maximumFrames,
            fullSide: fullSide,
            thumbnailSide: thumbnailSide,
            animationPixels: animationPixels,
            quality: quality,
            thumbnailQuality: thumbnailQuality,
            isProgressive: isProgressive != 0,
            processorSeconds: processorSeconds,
            memory: memory,
            maximumMemory: maximumMemory
        )
    }
}
