public struct ImageLimits: Hashable, Sendable {
    /// The maximum number of pixels of one frame: 50 million.
    public var pixels: Int
    /// The maximum number of frames of an animation: 60.
    public var frames: Int

    public init(pixels: Int = 50_000_000, frames: Int = 60) {
        self.pixels = pixels
        self.frames = frames
    }
}
