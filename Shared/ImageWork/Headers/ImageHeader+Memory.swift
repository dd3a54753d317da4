extension ImageHeader {
    /// What any image takes, in bytes: stacks, rows on their way from one size to the next, and what is written.
    private static let base = 100_000_000
    /// What sequential JPEGs and most PNGs need, in bytes; given before the header is known.
    package static let initialMemory = 110_000_000
    /// How many rows of a PNG are kept at most until the smaller picture has one of its own.
    private static let maximumRows = 600

    /// The memory of its own that a worker needs at most to make pictures of this, as measured with libvips 8.14.
    ///
    /// Most JPEGs and PNGs pass through in rows. Others are held whole, and of one that moves so is what it is made into.
    ///
    /// - Parameter animationPixels: the most that all its frames have together once they are fitted.
    /// - Returns: bytes.
    package func memory(animationPixels: Int) -> Int {
        let rows = type == .png && bytesHeldPerPixel == 0 ? min(height, Self.maximumRows) * width * 3 : 0
        let moving = frames > 1 ? animationPixels * 5 : 0
        return Self.base + width * height * bytesHeldPerPixel + rows + moving
    }
}
