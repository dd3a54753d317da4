import Foundation
import ImageWork

/// Makes pictures of files that strangers have sent.
///
/// What a file is, its size and its structure are found out here, by code that keeps to its bounds; decoding is done by a few
/// processes of their own with limits on memory, processor time and duration. A file that makes a decoder crash, hang or eat
/// memory ends such a process, and the next file gets a new one.
public final class ImageWorkshop: Sendable {
    private let configuration: ImageWorkshopConfiguration
    private let crew: Crew

    /// Starts nothing yet: workers are started when there is work.
    public init(_ configuration: ImageWorkshopConfiguration) {
        self.configuration = configuration
        crew = Crew(configuration)
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
        try await crew.turns.with(1) { () throws(ImageError) in
            let header = try await onThread { () throws(ImageError) in try ImageHeader.read(file, limits: limits) }
            let order = order(file, folder, header, limits)
            return try await crew.memory.with(order.memory) { () throws(ImageError) in try await picture(order) }
        }
    }

    /// Ends the workers, also those at work; whoever waits is told `.cancelled`, and nothing can be prepared any more.
    public func close() async { await crew.close() }

    private func picture(_ order: RenderingOrder) async throws(ImageError) -> PreparedImage {
        do throws(ImageError) {
            let rendering = try await render(order)
            return try await onThread { () throws(ImageError) in
                try Self.check(rendering.full, at: order.full, isMoving: order.isAnimated)
                try Self.check(rendering.thumbnail, at: order.thumbnail, isMoving: false)
                return PreparedImage(rendering, order)
            }
        } catch {
            // Silence: a worker that ended early may not have written them.
            unlink(order.full)
            unlink(order.thumbnail)
            throw error
        }
    }

    private func order(
        _ file: String,
        _ folder: String,
        _ header: ImageHeader,
        _ limits: ImageLimits
    ) -> RenderingOrder {
        let output = configuration.output
        return RenderingOrder(
            source: file,
            full: "\(folder)/full",
            thumbnail: "\(folder)/thumbnail",
            format: header.type.format,
            isAnimated: header.frames > 1,
            maximumPixels: limits.pixels,
            fullSide: output.fullSide,
            thumbnailSide: output.thumbnailSide,
            animationPixels: output.animationPixels,
            quality: output.quality,
            thumbnailQuality: output.thumbnailQuality,
            isProgressive: output.isProgressive,
            processorSeconds: configuration.processorSeconds,
            memory: min(header.memory(animationPixels: output.animationPixels), configuration.memory)
        )
    }

    private func render(_ order: RenderingOrder) async throws(ImageError) -> Rendering {
        while true {
            let worker = try await crew.worker()
            let isFresh = worker.isFresh
            switch await worker.carryOut(order, within: configuration.deadline) {
            case .answer(let answer):
                await crew.giveBack(worker)
                return try answer.rendering(limit: order.maximumPixels)
            case .late:
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

    /// The worker had a stranger's bytes in it: what it says of its files is looked up in them.
    private static func check(_ picture: Rendering.Picture, at path: String, isMoving: Bool) throws(ImageError) {
        let header = try ImageHeader.read(path, limits: ImageLimits(pixels: .max, frames: .max))
        let isSame =
            header.type.format == picture.format && header.width == picture.width && header.height == picture.height
        guard isSame, isMoving || header.frames == 1, !header.hasMetadata else {
            throw .failed(reason: "image-worker has made \(header), and not \(picture)")
        }
    }
}

extension RenderingAnswer {
    fileprivate func rendering(limit: Int) throws(ImageError) -> Rendering {
        switch self {
        case .made(let rendering): return rendering
        case .tooManyPixels: throw .tooManyPixels(limit: limit)
        case .broken(let words): throw .broken(reason: "cannot be decoded" + (words.isEmpty ? "" : " (\(words))"))
        case .unreadable: throw .unsupported(reason: "is a HEIC image, which this server has no decoder for")
        case .notWritten(ENOSPC), .notWritten(EDQUOT): throw .noSpace
        case .notWritten(let number):
            throw .failed(reason: "a picture cannot be written: \(String(cString: strerror(number)))")
        case .ready: throw .failed(reason: "image-worker was ready twice")
        }
    }
}

extension ImageType {
    var format: PictureFormat {
        switch self {
        case .jpeg: .jpeg
        case .png: .png
        case .gif: .gif
        case .webp: .webp
        case .heic: .heic
        }
    }

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
    fileprivate init(_ rendering: Rendering, _ order: RenderingOrder) {
        type = ImageType(order.format)
        (width, height) = (rendering.width, rendering.height)
        blurhash = BlurHash.encode(
            pixels: rendering.sample,
            width: rendering.sampleWidth,
            height: rendering.sampleHeight
        )
        full = Picture(rendering.full, path: order.full)
        thumbnail = Picture(rendering.thumbnail, path: order.thumbnail)
        isAnimated = order.isAnimated
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
