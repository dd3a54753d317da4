/// The image formats; HEIC is read but not written.
package enum PictureFormat: String, Sendable, CaseIterable {
    case jpeg, png, gif, webp, heic
}

/// The request to make pictures of one file.
///
/// Three descriptors are sent with it: the source, and the empty files of the full picture and the thumbnail. A worker
/// opens no files.
package struct RenderRequest: Equatable, Sendable {
    package static let descriptors = 3

    package var maximumPixels: Int
    package var maximumFrames: Int
    package var fullSide: Int
    package var thumbnailSide: Int
    /// The maximum number of pixels of all frames of the output animation together.
    package var animationPixels: Int
    package var quality: Int
    package var thumbnailQuality: Int
    package var isProgressive: Bool
    package var processorSeconds: Int
    /// The memory limit of the worker, in bytes.
    package var memory: Int
    /// The maximum that the worker may request instead of `memory`, in bytes.
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
