/// What was made of a file: two pictures without any metadata but their colour profile, and a blur to show before them.
public struct PreparedImage: Hashable, Sendable {
    /// A file that was written.
    public struct Picture: Hashable, Sendable {
        public let path: String
        public let type: ImageType
        /// In pixels, the right way up.
        public let width: Int
        public let height: Int

        public var mediaType: String { type.mediaType }
    }

    /// What the file is, by its bytes.
    public let type: ImageType
    /// The file's own size in pixels, turned the right way up; `full` may be smaller.
    public let width: Int
    public let height: Int
    /// https://blurha.sh with 4 by 3 components.
    public let blurhash: String
    public let full: Picture
    /// Of a moving image, a still.
    public let thumbnail: Picture
    /// Whether `full` moves.
    public let isAnimated: Bool
}
