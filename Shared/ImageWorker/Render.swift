import CVips
import Glibc
import ImageWork

/// A file could not be written; the system's error.
private struct WriteError: Error {
    let number: Int32
}

/// Carries out one order.
func render(_ order: RenderingOrder) -> RenderingAnswer {
    if order.format == .heic, cvips_load_heif() != 0 {
        return .unreadable
    }
    do {
        let header = try Picture(headerOf: Source(order.source), options: "")
        // The decoder's own word, whatever was found before.
        guard header.width <= order.maximumPixels / max(1, header.frameHeight) else { return .tooManyPixels }
        return .made(try order.isAnimated ? renderMoving(order, header) : renderStill(order, header))
    } catch let error as WriteError {
        return .notWritten(error.number)
    } catch let error as DecoderError {
        // Some of its words begin with the name of what it reads, which is nobody's business.
        let words = error.words.split(separator: order.source).joined(separator: "file")
        return .broken(words.hasPrefix(": ") ? String(words.dropFirst(2)) : words)
    } catch {
        return .broken("")
    }
}

/// The file is decoded once: the thumbnail is made of the full picture, and the sample of the thumbnail.
private func renderStill(_ order: RenderingOrder, _ header: Picture) throws -> Rendering {
    let full = try Picture(Source(order.source), side: order.fullSide, options: "").stripped().decoded()
    // Only moving pictures stay GIFs: 256 colours are few for one that was made smaller. HEIC is what few browsers show.
    let format: PictureFormat =
        switch order.format {
        case .jpeg, .heic: full.hasAlpha ? .png : .jpeg
        case .png, .gif: .png
        case .webp: .webp
        }
    try write(full, as: format, quality: order.quality, order, to: order.full)
    return try finish(order, header, full: Rendering.Picture(format, full), still: full)
}

private func renderMoving(_ order: RenderingOrder, _ header: Picture) throws -> Rendering {
    let all = try Picture(headerOf: Source(order.source), options: "[n=-1]")
    let frames = max(1, all.height / max(1, all.frameHeight))
    let side = animationSide(order, width: all.width, height: all.frameHeight, frames: frames)
    let moving = try Picture(Source(order.source), side: side, options: "[n=-1]").stripped()
    try write(moving, as: order.format, quality: order.quality, order, to: order.full)
    let still = try Picture(Source(order.source), side: order.thumbnailSide, options: "").stripped().decoded()
    return try finish(order, header, full: Rendering.Picture(order.format, moving), still: still)
}

/// The side of the square into which all frames fit without being more than the order allows together.
private func animationSide(_ order: RenderingOrder, width: Int, height: Int, frames: Int) -> Int {
    let scale = min(1, Double(order.fullSide) / Double(max(width, height)))
    let pixels = Double(width) * scale * Double(height) * scale * Double(frames)
    let shrink = min(1, (Double(order.animationPixels) / pixels).squareRoot())
    return max(1, Int(Double(max(width, height)) * scale * shrink))
}

private func finish(
    _ order: RenderingOrder,
    _ header: Picture,
    full: Rendering.Picture,
    still: Picture
) throws -> Rendering {
    let thumbnail = try still.shrunk(to: order.thumbnailSide).stripped().decoded()
    // JPEG has no transparency, and WebP is a third of what PNG takes.
    let format: PictureFormat = thumbnail.hasAlpha ? .webp : .jpeg
    try write(thumbnail, as: format, quality: order.thumbnailQuality, order, to: order.thumbnail)
    let sample = try thumbnail.shrunk(to: 64).pixelsOnWhite()
    let isTurned = header.isOnItsSide
    return Rendering(
        width: isTurned ? header.frameHeight : header.width,
        height: isTurned ? header.width : header.frameHeight,
        full: full,
        thumbnail: Rendering.Picture(format, thumbnail),
        sampleWidth: sample.width,
        sampleHeight: sample.height,
        sample: sample.pixels
    )
}

private func write(
    _ picture: Picture,
    as format: PictureFormat,
    quality: Int,
    _ order: RenderingOrder,
    to path: String
) throws {
    let saved = try picture.saved(as: format, quality: quality, isProgressive: order.isProgressive)
    let bytes = MetadataFilter.filter(saved, format)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw WriteError(number: errno) }
    defer { close(descriptor) }
    guard writeAll(bytes, to: descriptor) else { throw WriteError(number: errno) }
}

extension Rendering.Picture {
    fileprivate init(_ format: PictureFormat, _ picture: Picture) {
        self.init(format: format, width: picture.width, height: picture.frameHeight)
    }
}
