/// Why a file is not decoded.
///
/// A reason completes the sentence "the file …". It holds no text of the file and no path.
package enum ImageDecodingError: Error, Hashable, Sendable {
    /// No image, not of a format that is read, or something else as well.
    case unsupported(reason: String)
    case tooManyPixels
    case tooManyFrames
    /// An image that is damaged, or needs more memory or time than an image may.
    case broken(reason: String)

    static let truncated = ImageDecodingError.broken(reason: "ends before its image does")
    /// A part does not begin where the part before it ends.
    static let malformedStructure = ImageDecodingError.broken(reason: "is damaged between the parts that it is made of")
    static let tooManyParts = ImageDecodingError.broken(reason: "is made of more parts than an image may be")
    static let unknownSize = ImageDecodingError.broken(reason: "does not say how large it is")
}
