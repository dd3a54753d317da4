import Blobs
import NIOCore
import Testing

@Suite("Media types") struct MediaTypeTests {
    private static let known: [(String, [UInt8])] = [
        ("image/jpeg", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10] + text("JFIF")),
        ("image/png", [0x89] + text("PNG\r\n") + [0x1A, 0x0A] + [0, 0, 0, 13] + text("IHDR")),
        ("image/gif", text("GIF89a") + [1, 0, 1, 0]),
        ("image/webp", text("RIFF") + [4, 0, 0, 0] + text("WEBPVP8 ")),
        ("image/heic", [0, 0, 0, 24] + text("ftypheic") + [0, 0, 0, 0] + text("mif1heic")),
        ("image/heic", [0, 0, 0, 24] + text("ftypmif1") + [0, 0, 0, 0] + text("mif1heic")),
        ("image/avif", [0, 0, 0, 24] + text("ftypmif1") + [0, 0, 0, 0] + text("mif1avif")),
        ("image/heif", [0, 0, 0, 20] + text("ftypmif1") + [0, 0, 0, 0] + text("mif1")),
        ("image/avif", [0, 0, 0, 20] + text("ftypavif") + [0, 0, 0, 0] + text("mif1")),
        ("image/tiff", text("II") + [0x2A, 0, 8, 0, 0, 0]),
        ("image/bmp", text("BM") + [70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]),
        ("video/mp4", [0, 0, 0, 24] + text("ftypisom") + [0, 0, 2, 0] + text("isomiso2")),
        ("video/mp4", [0, 0, 0, 24] + text("ftypmp42") + [0, 0, 0, 0] + text("mp42isom")),
        ("video/quicktime", [0, 0, 0, 20] + text("ftypqt  ") + [0, 0, 2, 0] + text("qt  ")),
        ("video/3gpp", [0, 0, 0, 20] + text("ftyp3gp4") + [0, 0, 2, 0] + text("3gp4")),
        ("audio/mp4", [0, 0, 0, 20] + text("ftypM4A ") + [0, 0, 2, 0] + text("M4A ")),
        ("video/webm", [0x1A, 0x45, 0xDF, 0xA3, 0x9F, 0x42, 0x82, 0x84] + text("webm")),
        ("video/x-matroska", [0x1A, 0x45, 0xDF, 0xA3, 0x9F, 0x42, 0x82, 0x88] + text("matroska")),
        ("audio/mpeg", text("ID3") + [4, 0, 0, 0, 0, 1, 0x7F, 0]),
        ("audio/mpeg", frames([0xFF, 0xFB, 0x90, 0x64], length: 417)),
        ("audio/aac", frames([0xFF, 0xF1, 0x50, 0x80, 0x02, 0x1F, 0xFC], length: 16)),
        ("audio/ogg", text("OggS") + [UInt8](repeating: 0, count: 24) + text("OpusHead")),
        ("video/ogg", text("OggS") + [UInt8](repeating: 0, count: 24) + [0x80] + text("theora")),
        ("audio/wav", text("RIFF") + [4, 0, 0, 0] + text("WAVEfmt ")),
        ("audio/flac", text("fLaC") + [0, 0, 0, 34]),
        ("audio/amr", text("#!AMR\n") + [0x3C]),
        ("application/pdf", text("%PDF-1.7\n%") + [0xE2, 0xE3, 0xCF, 0xD3]),
        ("application/zip", zip("holiday/a.jpg")),
        ("application/zip", [0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)),
        ("application/epub+zip", zip("mimetype", "application/epub+zip")),
        ("application/vnd.oasis.opendocument.text", zip("mimetype", "application/vnd.oasis.opendocument.text")),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            zip("[Content_Types].xml", "<Types/>") + zip("word/document.xml")
        ),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            zip("_rels/.rels") + zip("xl/workbook.xml")
        ),
        ("application/gzip", [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0]),
        ("text/plain", text("Grüße, 世界 🎈\n\tand tabs\r\n")),
        ("text/plain", text("<!DOCTYPE html><script>alert(1)</script>")),
        ("text/plain", text(#"<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>"#)),
        ("text/plain", text("<?xml version=\"1.0\"?><x/>")),
        ("text/plain", text("alert(document.cookie)")),
        ("text/plain", text("BM is two letters, ID3 three, and RIFF four.")),
        ("application/octet-stream", text("a\0b")),
        ("application/octet-stream", text("\u{1B}[31mred")),
        ("application/octet-stream", text("del\u{7F}ete")),
        ("application/octet-stream", [0xFF, 0xFE] + text("<script>").flatMap { [$0, 0] }),
        ("application/octet-stream", text("half a character ") + [0xE4, 0xB8]),
        ("application/octet-stream", [0xC0, 0xAF]),
        ("application/octet-stream", [0xED, 0xA0, 0x80]),
        ("application/octet-stream", [0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 1, count: 4_000)),
    ]

    @Test("The type is detected from the bytes, in pieces of any size", arguments: known.indices)
    func mediaTypes(number: Int) {
        let (expected, bytes) = Self.known[number]
        for piece in [1, 3, 8, 5_000] { #expect(Self.mediaType(of: bytes, pieces: piece) == expected) }
    }

    @Test("A cut signature does not crash the detector")
    func cutSignature() {
        for (_, bytes) in Self.known {
            for count in bytes.indices { _ = Self.mediaType(of: Array(bytes[..<count]), pieces: 4_096) }
        }
    }

    /// Compares with the standard library's UTF-8 validation, on random text and almost-text.
    @Test("Text is valid UTF-8 without control characters")
    func plainText() {
        var numbers = SeededNumbers(state: 5)
        let alphabet = ["a", "<", " ", "\n", "\t", "é", "世", "🎈", "\u{7FF}", "\u{FFFF}", "\u{10FFFF}"].map(Self.text)
        for _ in 0..<3_000 {
            var bytes = (0..<Int.random(in: 0...40, using: &numbers)).flatMap { _ in
                alphabet.randomElement(using: &numbers) ?? []
            }
            if Bool.random(using: &numbers), !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &numbers)] = numbers.bytes(1)[0]
            }
            let text = String(validating: bytes, as: UTF8.self)
            let isText = text?.unicodeScalars.allSatisfy { scalar in
                "\n\t\r\u{C}".unicodeScalars.contains(scalar) || scalar.value >= 0x20 && scalar.value != 0x7F
            }
            let found = Self.mediaType(of: bytes, pieces: Int.random(in: 1...20, using: &numbers))
            #expect(found == MediaTypeDetector.text || found == MediaTypeDetector.unknown)
            #expect((found == MediaTypeDetector.text) == (isText ?? false), "\(bytes)")
        }
    }

    private static func mediaType(of bytes: [UInt8], pieces: Int) -> String {
        var detector = MediaTypeDetector()
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            detector.feed(ByteBuffer(bytes: bytes[start..<min(start + pieces, bytes.count)]))
        }
        return detector.mediaType
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func frames(_ header: [UInt8], length: Int) -> [UInt8] {
        (0..<3).flatMap { _ in header + [UInt8](repeating: 0x55, count: length - header.count) }
    }

    /// A local header of a zip archive, with stored content.
    private static func zip(_ name: String, _ content: String = "") -> [UInt8] {
        [0x50, 0x4B, 0x03, 0x04, 20, 0] + [UInt8](repeating: 0, count: 12) + [UInt8(content.utf8.count), 0, 0, 0]
            + [UInt8(content.utf8.count), 0, 0, 0] + [UInt8(name.utf8.count), 0, 0, 0] + text(name) + text(content)
            + [UInt8](repeating: 0, count: 8)
    }
}
