/// Why a file is not decoded.
///
/// A reason completes the sentence "the file …".
///
/// It contains neither text from the file nor paths.
package enum ImageDecodingError: Error, Hashable, Sendable {
    /// The file is not an image, has an unsupported format, or is also valid in another format.
    case unsupported(reason: String)
    case tooManyPixels
    case tooManyFrames
    /// The image is damaged, or needs more memory or time than allowed.
    case broken(reason: String)

    static let truncated = ImageDecodingError.broken(reason: "ends before its image does")
    static let malformedStructure = ImageDecodingError.broken(reason: "has a damaged structure")
    static let tooManyParts = ImageDecodingError.broken(reason: "has more parts than allowed")
    static let unknownSize = ImageDecodingError.broken(reason: "does not contain its size")
}
