import Foundation
import ImageWork

/// Makes pictures of files that strangers have sent.
///
/// Files are read by a few processes of their own, the workers, with limits on memory, processor time and duration, and
/// without access to anything but the files of their order. A file that makes a reader crash, hang or eat memory ends such a
/// process, and the next file gets a new one. This process passes the open file and receives what it is and how large.
public final class ImageProcessor: Sendable {
    private let configuration: ImageProcessorConfiguration
    private let workerPool: WorkerPool

    /// Starts nothing yet: workers are started when there is work.
    public init(_ configuration: ImageProcessorConfiguration) {
        self.configuration = configuration
        workerPool = WorkerPool(configuration)
    }

    /// Makes the pictures of one file.
    ///
    /// Cancelling is heard while a file waits for its turn. From then on it takes at most the configuration's deadline.
    ///
    /// - Parameters:
    ///   - file: the path of a regular file. Its name says nothing.
    ///   - folder: a folder that is there and is for this file alone. It gets `full` and `thumbnail`, and nothing if this throws.
    ///   - limits: what is decoded at all.
    /// - Returns: what was made, and where it is.
    /// - Throws: why nothing was made.
    public func prepare(
        _ file: String,
        into folder: String,
        limits: ImageLimits = ImageLimits()
    ) async throws(ImageError) -> PreparedImage {
        try await workerPool.concurrency.with(1) { () throws(ImageError) in
            do throws(ImageError) {
                return try await picture(of: file, in: folder, limits)
            } catch {
                // A worker that ended early may have written a part of them.
                ImageFiles.removePictures(in: folder)
                throw error
            }
        }
    }

    /// Ends the workers, also those at work; whoever waits is told `.cancelled`, and nothing can be prepared any more.
    public func close() async { await workerPool.close() }

    private func picture(
        of file: String,
        in folder: String,
        _ limits: ImageLimits
    ) async throws(ImageError) -> PreparedImage {
        var request = request(limits)
        // The second time with what the worker has asked for; one that asks again is broken.
        for _ in 0..<2 {
            let response = try await workerPool.memory.with(request.memory) { [request] () throws(ImageError) in
                try await execute(request, on: file, in: folder)
            }
            switch response {
            case .rendered(let rendering): return try await image(rendering, in: folder, limits)
            case .needs(let memory) where memory > request.memory && memory <= request.maximumMemory:
                request.memory = memory
            case .needs, .ready: throw .failed(reason: "image-worker has answered what it was not asked")
            case .rejected(let decodingError): throw ImageError(decodingError, limits)
            case .notWritten(ENOSPC), .notWritten(EDQUOT): throw .noSpace
            case .notWritten(let number):
                throw .failed(reason: "a picture cannot be written: \(String(cString: strerror(number)))")
            }
        }
        throw .failed(reason: "image-worker has asked for more memory twice")
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
                throw .broken(reason: "takes longer to decode than an image may")
            case .ended(let status):
                // One that has carried out orders before may have been hurt by them: another file's fault is not this one's.
                if isFresh {
                    throw .broken(
                        reason: status.isLimit ? "takes more to decode than an image may" : "makes its decoder crash"
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
            throw .failed(reason: "image-worker has made a picture of more pixels than it may")
        }
        return try await onThread { () throws(ImageError) in
            let (full, thumbnail) = (ImageFiles.full(in: folder), ImageFiles.thumbnail(in: folder))
            try Self.check(rendering.full, at: full, isAnimated: rendering.isAnimated)
            try Self.check(rendering.thumbnail, at: thumbnail, isAnimated: false)
            return PreparedImage(rendering, full: full, thumbnail: thumbnail)
        }
    }

    /// Compares what the worker says of a picture that it wrote with the picture: the worker had a stranger's bytes in it.
    private static func check(_ picture: Rendering.Picture, at path: String, isAnimated: Bool) throws(ImageError) {
        let header: ImageHeader
        do throws(ImageDecodingError) {
            header = try ImageFiles.header(of: path)
        } catch {
            throw .failed(reason: "image-worker has made no picture: \(error)")
        }
        let isSame =
            header.type == picture.format && header.width == picture.width && header.height == picture.height
        guard isSame, isAnimated || header.frames == 1, !header.hasMetadata else {
            throw .failed(reason: "image-worker has made \(header), and not \(picture)")
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

/// Runs what reads files on a thread of the system's, so that it holds up no task.
private func onThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws(ImageError) -> Value
) async throws(ImageError) -> Value {
    let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Value, ImageError>, Never>) in
        DispatchQueue.global().async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
}
