/// What is decoded at all.
public struct ImageLimits: Hashable, Sendable {
    /// The most pixels that one frame may have: 50 million.
    public var pixels: Int
    /// The most frames that a moving image may have: 60.
    public var frames: Int

    public init(pixels: Int = 50_000_000, frames: Int = 60) {
        self.pixels = pixels
        self.frames = frames
    }
}
