/// The formats that are read.
public enum ImageType: String, Sendable, Hashable, CaseIterable {
    case jpeg, png, gif, webp, heic

    /// What goes into a `Content-Type`.
    public var mediaType: String { "image/\(rawValue)" }
}
