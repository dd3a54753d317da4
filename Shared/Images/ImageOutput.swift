/// What pictures are made as.
public struct ImageOutput: Hashable, Sendable {
    /// The side of the square that the full picture is fitted into, in pixels: 1280; nothing is enlarged.
    public var fullSide: Int
    /// The side of the square that the thumbnail is fitted into, in pixels: 640.
    public var thumbnailSide: Int
    /// The quality of JPEG and WebP, 1 to 100.
    public var quality: Int
    /// The quality of the thumbnail, 1 to 100.
    public var thumbnailQuality: Int
    /// Whether JPEGs appear at once and get sharper while they load; they take half as long again to write.
    public var isProgressive: Bool
    /// The most pixels that all frames of a moving picture have together: it is made smaller until it fits.
    ///
    /// What limits the time and the memory that GIFs take, of the worker and of those who look at them.
    public var animationPixels: Int

    public init(
        fullSide: Int = 1_280,
        thumbnailSide: Int = 640,
        quality: Int = 82,
        thumbnailQuality: Int = 78,
        isProgressive: Bool = false,
        animationPixels: Int = 20_000_000
    ) {
        self.fullSide = fullSide
        self.thumbnailSide = thumbnailSide
        self.quality = quality
        self.thumbnailQuality = thumbnailQuality
        self.isProgressive = isProgressive
        self.animationPixels = animationPixels
    }
}
