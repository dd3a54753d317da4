/// Why nothing was made of a file.
///
/// Reasons are sentences' ends for a person, "the file …": they hold nothing of the file's own text and no path.
public enum ImageError: Error, Hashable, Sendable {
    /// It is no image, not of a format that is read, or something else as well.
    case unsupported(reason: String)
    /// It has more pixels than allowed.
    case tooManyPixels(limit: Int)
    /// It moves for longer than allowed.
    case tooManyFrames(limit: Int)
    /// It says that it is an image and is damaged, or takes more memory or time than any image should.
    case broken(reason: String)
    /// As many wait already as may.
    case busy
    /// The disk is full.
    case noSpace
    /// The task that asked is cancelled.
    case cancelled
    /// Not the file's fault: why, for a log.
    case failed(reason: String)
}
