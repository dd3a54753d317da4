/// Why a file is not decoded.
///
/// A reason completes the sentence "the file …".
///
/// It contains neither text from the file nor paths.
package enum ImageDecodingError: Error, Hashable, Sendable {
    case unsupported(reason: String)
    case tooManyPixels
    case tooManyFrames
    case broken(reason: String)

    static let truncated = ImageDecodingError.broken(reason: "ends before its image does")
    static let malformedStructure = ImageDecodingError.broken(reason: "has a damaged structure")
    static let tooManyParts = ImageDecodingError.broken(reason: "has more parts than allowed")
    static let unknownSize = ImageDecodingError.broken(reason: "does not contain its size")
}
