public enum ImageType: String, Sendable, Hashable, CaseIterable {
    case jpeg, png, gif, webp, heic

    public var mediaType: String { "image/\(rawValue)" }
}
