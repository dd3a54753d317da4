import CVips
import Glibc
import ImageWork

private struct WriteError: Error {
    let number: Int32
}

func execute(_ request: RenderRequest, _ files: RequestFiles, readsHEIC: Bool) -> RenderResponse {
    do throws(ImageDecodingError) {
        let header = try ImageHeader.read(
            files.source,
            maximumPixels: request.maximumPixels,
            maximumFrames: request.maximumFrames
        )
        guard header.type != .heic || readsHEIC else {
            return .rejected(.unsupported(reason: "is a HEIC image, which this server has no decoder for"))
        }
        let memory = min(header.memory(animationPixels: request.animationPixels), request.maximumMemory)
        guard memory <= request.memory else { return .needs(memory: memory) }
        return render(request, files, header)
    } catch {
        return .rejected(error)
    }
}

private func render(_ request: RenderRequest, _ files: RequestFiles, _ found: ImageHeader) -> RenderResponse {
    var status = stat()
    guard fstat(files.source, &status) == 0,
        let start = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, files.source, 0), start != MAP_FAILED
    else { return .rejected(.broken(reason: "cannot be read")) }
    defer { munmap(start, Int(status.st_size)) }
    let rendering = Renderer(
        request: request,
        files: files,
        type: found.type,
        isAnimated: found.frames > 1,
        bytes: UnsafeRawBufferPointer(start: start, count: Int(status.st_size))
    )
    do {
        return try rendering.run()
    } catch let error as WriteError {
        return .notWritten(error.number)
    } catch let error as DecoderError {
        return .rejected(.broken(reason: "cannot be decoded" + (error.message.isEmpty ? "" : " (\(error.message))")))
    } catch {
        return .rejected(.broken(reason: "cannot be decoded"))
    }
}

private struct Renderer {
    let request: RenderRequest
    let files: RequestFiles
    let type: PictureFormat
    let isAnimated: Bool
    let bytes: UnsafeRawBufferPointer

    func run() throws -> RenderResponse {
        let header = try Picture(headerOf: Source(bytes), options: "")
        // The decoder may read another size than the header reader.
        guard header.width <= request.maximumPixels / max(1, header.frameHeight) else {
            return .rejected(.tooManyPixels)
        }
        return .rendered(try isAnimated ? renderAnimation(header) : renderStill(header))
    }

    /// Decodes the file once: the thumbnail is made of the full picture, and the sample of the thumbnail.
    private func renderStill(_ header: Picture) throws -> Rendering {
        let full = try Picture(Source(bytes), side: request.fullSide, options: "").stripped().decoded()
        // Only animations stay GIFs: 256 colours are too few for a resized still. HEIC becomes JPEG because few
        // browsers show it.
        let format: PictureFormat =
            switch type {
            case .jpeg, .heic: full.hasAlpha ? .png : .jpeg
            case .png, .gif: .png
            case .webp: .webp
            }
        try write(full, as: format, quality: request.quality, to: files.full)
        return try finish(header, full: Rendering.Picture(format, full), still: full)
    }

    private func renderAnimation(_ header: Picture) throws -> Rendering {
        let all = try Picture(headerOf: Source(bytes), options: "[n=-1]")
        let frames = max(1, all.height / max(1, all.frameHeight))
        let side = animationSide(request, width: all.width, height: all.frameHeight, frames: frames)
        let animation = try Picture(Source(bytes), side: side, options: "[n=-1]").stripped()
        try write(animation, as: type, quality: request.quality, to: files.full)
        let still = try Picture(Source(bytes), side: request.thumbnailSide, options: "").stripped().decoded()
        return try finish(header, full: Rendering.Picture(type, animation), still: still)
    }

    private func finish(_ header: Picture, full: Rendering.Picture, still: Picture) throws -> Rendering {
        let thumbnail = try still.shrunk(to: request.thumbnailSide).stripped().decoded()
        // JPEG has no transparency, and WebP takes a third of the bytes of PNG.
        let format: PictureFormat = thumbnail.hasAlpha ? .webp : .jpeg
        try write(thumbnail, as: format, quality: request.thumbnailQuality, to: files.thumbnail)
        let sample = try thumbnail.shrunk(to: 64).pixelsOnWhite()
        let isTurned = header.swapsWidthAndHeight
        return Rendering(
            type: type,
            isAnimated: isAnimated,
            width: isTurned ? header.frameHeight : header.width,
            height: isTurned ? header.width : header.frameHeight,
            full: full,
            thumbnail: Rendering.Picture(format, thumbnail),
            sampleWidth: sample.width,
            sampleHeight: sample.height,
            sample: sample.pixels
        )
    }

    private func write(_ picture: Picture, as format: PictureFormat, quality: Int, to file: Int32) throws {
        let saved = try picture.saved(as: format, quality: quality, isProgressive: request.isProgressive)
        guard writeAll(MetadataFilter.filter(saved, format), to: file) else { throw WriteError(number: errno) }
    }
}

/// Returns the side of the square into which all frames fit without exceeding `animationPixels` together.
private func animationSide(_ request: RenderRequest, width: Int, height: Int, frames: Int) -> Int {
    let scale = min(1, Double(request.fullSide) / Double(max(width, height)))
    let pixels = Double(width) * scale * Double(height) * scale * Double(frames)
    let shrink = min(1, (Double(request.animationPixels) / pixels).squareRoot())
    return max(1, Int(Double(max(width, height)) * scale * shrink))
}

extension Rendering.Picture {
    fileprivate init(_ format: PictureFormat, _ picture: Picture) {
        self.init(format: format, width: picture.width, height: picture.frameHeight)
    }
}
