/// The pictures of a file: two pictures without metadata other than a colour profile, and a BlurHash.
public struct PreparedImage: Hashable, Sendable {
    public struct Picture: Hashable, Sendable {
        public let path: String
        public let type: ImageType
        /// In pixels, after the orientation is applied.
        public let width: Int
        public let height: Int

        public var mediaType: String { type.mediaType }
    }

    /// The format of the source, detected from its bytes.
    public let type: ImageType
    /// The size of the source in pixels, after the orientation is applied; `full` may be smaller.
    public let width: Int
    public let height: Int
    /// The placeholder, with 4 by 3 components (https://blurha.sh).
    public let blurhash: String
    public let full: Picture
    /// A still picture, even if `full` is animated.
    public let thumbnail: Picture
    public let isAnimated: Bool
}
