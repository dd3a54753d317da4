import Foundation
import ImageWork

/// Makes pictures of untrusted image files.
///
/// A few separate processes, the workers, decode the files. They have limits on memory, processor time and duration,
/// and access only to the files of their request. A file that crashes, blocks or exhausts a worker ends that process,
/// and the next file gets a new one. This process passes the open files and receives the format and size of the
/// pictures.
public final class ImageProcessor: Sendable {
    private let configuration: ImageProcessorConfiguration
    private let workerPool: WorkerPool

    /// Starts no worker; workers are started on demand.
    public init(_ configuration: ImageProcessorConfiguration) {
        self.configuration = configuration
        workerPool = WorkerPool(configuration)
    }

    /// Makes the pictures of one file.
    ///
    /// A request can be cancelled only while it waits in the queue. After that it takes at most the configured
    /// deadline.
    ///
    /// - Parameters:
    ///   - file: The path of a regular file; its name is not used.
    ///   - folder: An existing folder for this file only; it receives `full` and `thumbnail`, or nothing on error.
    ///   - limits: The limits of images that are decoded.
    /// - Returns: The pictures and their paths.
    /// - Throws: The reason why no pictures were made.
    public func prepare(
        _ file: String,
        into folder: String,
        limits: ImageLimits = ImageLimits()
    ) async throws(ImageError) -> PreparedImage {
        try await workerPool.concurrency.with(1) { () throws(ImageError) in
            do throws(ImageError) {
                return try await picture(of: file, in: folder, limits)
            } catch {
                // A worker that ended early may have written part of the pictures.
                ImageFiles.removePictures(in: folder)
                throw error
            }
        }
    }

    /// Ends all workers, including busy ones; waiting and later requests throw `.cancelled`.
    public func close() async { await workerPool.close() }

    private func picture(
        of file: String,
        in folder: String,
        _ limits: ImageLimits
    ) async throws(ImageError) -> PreparedImage {
        var request = request(limits)
        // The second attempt has the memory that the worker requested; a worker that requests more twice is faulty.
        for _ in 0..<2 {
            let response = try await workerPool.memory.with(request.memory) { [request] () throws(ImageError) in
                try await execute(request, on: file, in: folder)
            }
            switch response {
            case .rendered(let rendering): return try await image(rendering, in: folder, limits)
            case .needs(let memory) where memory > request.memory && memory <= request.maximumMemory:
                request.memory = memory
            case .needs, .ready: throw .failed(reason: "image-worker sent an unexpected response")
            case .rejected(let decodingError): throw ImageError(decodingError, limits)
            case .notWritten(ENOSPC), .notWritten(EDQUOT): throw .noSpace
            case .notWritten(let number):
                throw .failed(reason: "a picture cannot be written: \(String(cString: strerror(number)))")
            }
        }
        throw .failed(reason: "image-worker requested more memory twice")
    }

    private func request(_ limits: ImageLimits) -> RenderRequest {
        let output = configuration.output
        return RenderRequest(
            maximumPixels: limits.pixels,
            maximumFrames: limits.frames,
            fullSide: output.fullSide,
            thumbnailSide: output.thumbnailSide,
            animationPixels: output.animationPixels,
            quality: output.quality,
            thumbnailQuality: output.thumbnailQuality,
            isProgressive: output.isProgressive,
            processorSeconds: configuration.processorSeconds,
            memory: min(ImageHeader.initialMemory, configuration.memory),
            maximumMemory: configuration.memory
        )
    }

    private func execute(
        _ request: RenderRequest,
        on file: String,
        in folder: String
    ) async throws(ImageError) -> RenderResponse {
        while true {
            let files = try await onThread { () throws(ImageError) in try ImageFiles(source: file, folder: folder) }
            let worker = try await workerPool.worker()
            let isFresh = worker.isFresh
            switch await worker.execute(request, on: files, within: configuration.deadline) {
            case .response(let response):
                await workerPool.release(worker)
                return response
            case .timedOut:
                throw .broken(reason: "takes too long to decode")
            case .ended(let status):
                // A worker that has processed other files may have been damaged by one of them, so this file gets
                // another attempt.
                if isFresh {
                    throw .broken(
                        reason: status.isLimit ? "takes too much memory or time to decode" : "crashes the decoder"
                    )
                }
            }
        }
    }

    private func image(
        _ rendering: Rendering,
        in folder: String,
        _ limits: ImageLimits
    ) async throws(ImageError) -> PreparedImage {
        guard rendering.width <= limits.pixels / rendering.height else {
            throw .failed(reason: "image-worker made a picture with too many pixels")
        }
        return try await onThread { () throws(ImageError) in
            let (full, thumbnail) = (ImageFiles.full(in: folder), ImageFiles.thumbnail(in: folder))
            try Self.check(rendering.full, at: full, isAnimated: rendering.isAnimated)
            try Self.check(rendering.thumbnail, at: thumbnail, isAnimated: false)
            return PreparedImage(rendering, full: full, thumbnail: thumbnail)
        }
    }

    /// Compares the worker's response with the picture it wrote, because untrusted data may have taken over the worker.
    private static func check(_ picture: Rendering.Picture, at path: String, isAnimated: Bool) throws(ImageError) {
        let header: ImageHeader
        do throws(ImageDecodingError) {
            header = try ImageFiles.header(of: path)
        } catch {
            throw .failed(reason: "image-worker made an invalid picture: \(error)")
        }
        let isSame =
            header.type == picture.format && header.width == picture.width && header.height == picture.height
        guard isSame, isAnimated || header.frames == 1, !header.hasMetadata else {
            throw .failed(reason: "image-worker made \(header) instead of \(picture)")
        }
    }
}

extension ImageError {
    fileprivate init(_ decodingError: ImageDecodingError, _ limits: ImageLimits) {
        switch decodingError {
        case .unsupported(let reason): self = .unsupported(reason: reason)
        case .broken(let reason): self = .broken(reason: reason)
        case .tooManyPixels: self = .tooManyPixels(limit: limits.pixels)
        case .tooManyFrames: self = .tooManyFrames(limit: limits.frames)
        }
    }
}

extension ImageType {
    fileprivate init(_ format: PictureFormat) {
        switch format {
        case .jpeg: self = .jpeg
        case .png: self = .png
        case .gif: self = .gif
        case .webp: self = .webp
        case .heic: self = .heic
        }
    }
}

extension PreparedImage {
    fileprivate init(_ rendering: Rendering, full fullPath: String, thumbnail thumbnailPath: String) {
        type = ImageType(rendering.type)
        (width, height) = (rendering.width, rendering.height)
        blurhash = BlurHash.encode(
            pixels: rendering.sample,
            width: rendering.sampleWidth,
            height: rendering.sampleHeight
        )
        full = Picture(rendering.full, path: fullPath)
        thumbnail = Picture(rendering.thumbnail, path: thumbnailPath)
        isAnimated = rendering.isAnimated
    }
}

extension PreparedImage.Picture {
    fileprivate init(_ picture: Rendering.Picture, path: String) {
        self.path = path
        type = ImageType(picture.format)
        (width, height) = (picture.width, picture.height)
    }
}

/// Runs blocking file access on a system thread, so that it does not block other tasks.
private func onThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws(ImageError) -> Value
) async throws(ImageError) -> Value {
    let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Value, ImageError>, Never>) in
        DispatchQueue.global().async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
}
