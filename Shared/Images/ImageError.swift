/// Why no pictures were made of a file.
///
/// A reason completes the sentence "the file …" and may be shown to users: it contains neither text from the file nor
/// paths.
public enum ImageError: Error, Hashable, Sendable {
    /// The file is not an image, has an unsupported format, or is also valid in another format.
    case unsupported(reason: String)
    case tooManyPixels(limit: Int)
    case tooManyFrames(limit: Int)
    /// The image is damaged, or takes more memory or time to decode than allowed.
    case broken(reason: String)
    /// The queue is full.
    case busy
    case noSpace
    case cancelled
    /// The failure is not caused by the file; the reason is for the log.
    case failed(reason: String)
}
