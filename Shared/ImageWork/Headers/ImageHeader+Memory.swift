extension ImageHeader {
    /// The memory that any image takes, in bytes: stacks, row buffers between the sizes, and the output.
    private static let base = 100_000_000
    /// The memory limit before the header is known, in bytes; enough for sequential JPEGs and most PNGs.
    package static let initialMemory = 110_000_000
    /// How many rows of a PNG are buffered at most until the smaller picture has one row.
    private static let maximumRows = 600

    /// The memory that a worker needs at most for this image, as measured with libvips 8.14.
    ///
    /// Most JPEGs and PNGs are processed in rows. Other images are held whole, and animations also in their output
    /// size.
    ///
    /// - Parameter animationPixels: The maximum number of pixels of all frames of the output animation together.
    /// - Returns: The memory in bytes.
    package func memory(animationPixels: Int) -> Int {
        let rows = type == .png && bytesHeldPerPixel == 0 ? min(height, Self.maximumRows) * width * 3 : 0
        let moving = frames > 1 ? animationPixels * 5 : 0
        return Self.base + width * height * bytesHeldPerPixel + rows + moving
    }
}
