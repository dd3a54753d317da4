public struct ImageOutput: Hashable, Sendable {
    /// The side of the square that the full picture is fitted into, in pixels: 1280.
    ///
    /// Pictures are not enlarged.
    public var fullSide: Int
    /// The side of the square that the thumbnail is fitted into, in pixels: 640.
    public var thumbnailSide: Int
    /// The quality of JPEG and WebP, 1 to 100.
    public var quality: Int
    public var thumbnailQuality: Int
    /// Whether JPEGs are progressive, which takes 50% more time to write.
    public var isProgressive: Bool
    /// The maximum number of pixels of all frames of an animation together; larger animations are made smaller.
    ///
    /// This bounds the time and memory that GIFs need in the worker and in clients.
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
