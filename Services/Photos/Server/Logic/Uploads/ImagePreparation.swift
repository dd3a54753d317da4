import Blobs
import Images
import Wire

/// Prepares uploaded images, one at a time for each user, so that a user with many slow images delays others by one
/// image only.
struct ImagePreparation: Sendable {
    let imageProcessor: ImageProcessor
    let pixels: Int
    let limit = PersonConcurrencyLimit()

    func prepare(_ image: ReceivedImage, in folder: String, of owner: Person.ID) async throws -> PreparedImage {
        try await limit.acquire(owner)
        do {
            let prepared = try await imageProcessor.prepare(
                image.path,
                into: folder,
                limits: ImageLimits(pixels: pixels)
            )
            await limit.release(owner)
            return prepared
        } catch {
            await limit.release(owner)
            throw Self.apiError(error)
        }
    }

    private static func apiError(_ error: ImageError) -> any Error {
        switch error {
        case .unsupported(let reason):
            APIError(.unsupportedMediaType, "unsupported_image", "the file \(reason)", field: "file")
        case .tooManyPixels(let limit):
            APIError(.unprocessable, "too_many_pixels", "an image can have at most \(limit) pixels", field: "file")
        case .tooManyFrames(let limit):
            APIError(.unprocessable, "too_many_frames", "an animation can have at most \(limit) frames", field: "file")
        case .broken(let reason): APIError(.unprocessable, "invalid_image", "the file \(reason)", field: "file")
        case .busy: APIError(.unavailable, "overloaded", "too many images are being processed; try again")
        case .noSpace: BlobError.noSpace
        case .cancelled: CancellationError()
        case .failed: error
        }
    }
}
