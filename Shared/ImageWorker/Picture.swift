import CVips
import Glibc
import ImageWork

struct DecoderError: Error {
    let message: String

    /// Takes the errors of libvips since the last call, and keeps only the first line, because the lines repeat each
    /// other.
    init() {
        guard let text = cvips_take_error() else {
            message = ""
            return
        }
        defer { free(text) }
        let first = String(cString: text).split(separator: "\n").first ?? ""
        message = String(
            first.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }.prefix(200).map(Character.init)
        )
    }
}

final class Picture {
    private let image: OpaquePointer

    private init(_ image: OpaquePointer) { self.image = image }

    deinit { cvips_release(image) }

    convenience init(headerOf source: Source, options: String) throws {
        guard let image = cvips_header(source.pointer, options) else { throw DecoderError() }
        self.init(image)
    }

    /// Fits the image into a square with its orientation applied; pixels are decoded only when the picture is saved.
    convenience init(_ source: Source, side: Int, options: String) throws {
        try self.init { cvips_thumbnail(source.pointer, $0, Int32(side), options) }
    }

    private convenience init(_ make: (UnsafeMutablePointer<OpaquePointer?>) -> Int32) throws {
        var made: OpaquePointer?
        guard make(&made) == 0, let made else { throw DecoderError() }
        self.init(made)
    }

    var width: Int { Int(cvips_width(image)) }
    var height: Int { Int(cvips_height(image)) }
    /// The height of one frame; frames are stored below each other.
    var frameHeight: Int { Int(cvips_frame_height(image)) }
    var hasAlpha: Bool { cvips_has_alpha(image) != 0 }
    var swapsWidthAndHeight: Bool { cvips_is_on_its_side(image) != 0 }

    func shrunk(to side: Int) throws -> Picture { try Picture { cvips_shrink(image, $0, Int32(side)) } }

    func stripped() throws -> Picture { try Picture { cvips_strip(image, $0) } }

    /// Returns a copy with its pixels in memory, without an alpha channel if all pixels are opaque.
    func decoded() throws -> Picture {
        guard let copy = cvips_in_memory(image) else { throw DecoderError() }
        let decoded = Picture(copy)
        return try Picture { cvips_drop_idle_alpha(decoded.image, $0) }
    }

    func pixelsOnWhite() throws -> (width: Int, height: Int, pixels: [UInt8]) {
        var (width, height): (Int32, Int32) = (0, 0)
        guard let pixels = cvips_pixels_on_white(image, &width, &height) else { throw DecoderError() }
        defer { cvips_free(pixels) }
        let bytes = UnsafeRawBufferPointer(start: pixels, count: Int(width) * Int(height) * 3)
        return (Int(width), Int(height), Array(bytes))
    }

    func saved(as format: PictureFormat, quality: Int, isProgressive: Bool) throws -> [UInt8] {
        var bytes: UnsafeMutableRawPointer?
        var count = 0
        let quality = Int32(quality)
        let result =
            switch format {
            case .jpeg: cvips_save_jpeg(image, &bytes, &count, quality, isProgressive ? 1 : 0)
            case .webp: cvips_save_webp(image, &bytes, &count, quality)
            case .gif: cvips_save_gif(image, &bytes, &count)
            case .png, .heic: cvips_save_png(image, &bytes, &count)
            }
        guard result == 0, let bytes else { throw DecoderError() }
        defer { cvips_free(bytes) }
        return Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

/// The bytes of an image, which must stay valid while pictures of them exist.
final class Source {
    let pointer: OpaquePointer

    init(_ bytes: UnsafeRawBufferPointer) throws {
        guard let pointer = cvips_open_bytes(bytes.baseAddress, bytes.count) else { throw DecoderError() }
        self.pointer = pointer
    }

    deinit { cvips_close(pointer) }
}
