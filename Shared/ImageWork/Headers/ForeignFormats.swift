/// Detects files that are not images, or that are an image and another format at once.
enum ForeignFormats {
    /// Text that browsers and servers treat as a page or a program, in lower case.
    private static let markup = ["<!doctype", "<html", "<script", "<svg", "<body", "<iframe", "<?php"]

    static func name(head: [UInt8]) -> String {
        let text = lowercase(head)
        if text.contains("<svg") { return "is an SVG drawing, not a photo" }
        if markup.contains(where: text.contains) { return "is a web page or a script, not an image" }
        let signatures: [(String, String)] = [
            ("%PDF-", "is a PDF document, not an image"), ("PK\u{3}\u{4}", "is a zip archive, not an image"),
            ("PK\u{5}\u{6}", "is a zip archive, not an image"), ("Rar!", "is an archive, not an image"),
            ("7z", "is an archive, not an image"), ("MZ", "is a program, not an image"),
            ("\u{7F}ELF", "is a program, not an image"), ("II*\0", "is a TIFF image, which is not supported"),
            ("MM\0*", "is a TIFF image, which is not supported"),
            ("BM", "is a BMP image, which is not supported"),
        ]
        let match = signatures.first { head.starts(with: $0.0.utf8) }
        return match?.1 ?? "is not a JPEG, PNG, GIF, WebP or HEIC image"
    }

    /// Rejects images that other programs would read as an archive, a document, a page or a program.
    ///
    /// A short video or second picture that phones append to an image is allowed; the pictures that are made do not
    /// contain it.
    static func rejectPolyglot(_ file: inout FileBytes, imageEnd: Int) throws(ImageDecodingError) {
        let head = file.bytes(0, upTo: 1_024)
        // PDF readers accept the signature within the first 1,024 bytes.
        if contains(head, "%PDF-") { throw .unsupported(reason: "is a PDF document as well as an image") }
        if hasMarkup(head) { throw .unsupported(reason: "is a web page as well as an image") }
        if hasZipTrailer(&file) { throw .unsupported(reason: "is a zip archive as well as an image") }
        let trailer = file.bytes(imageEnd, upTo: 65_536)
        if hasMarkup(Array(trailer.prefix(1_024))) {
            throw .unsupported(reason: "has a web page or a script after its image")
        }
        for signature in ["PK\u{3}\u{4}", "Rar!\u{1A}\u{7}", "7z\u{BC}\u{AF}\u{27}\u{1C}"]
        where contains(trailer, signature) {
            throw .unsupported(reason: "is an archive as well as an image")
        }
        for signature in ["%PDF-", "MZ", "\u{7F}ELF"] where trailer.starts(with: latin(signature)) {
            throw .unsupported(reason: "has a document or a program after its image")
        }
    }

    /// Returns whether the file ends with the end record of a zip archive.
    ///
    /// The record is followed by a comment of at most 65,535 bytes, whose length it contains (APPNOTE.TXT, section
    /// 4.3.16).
    private static func hasZipTrailer(_ file: inout FileBytes) -> Bool {
        let start = max(0, file.count - 65_557)
        let tail = file.bytes(start, upTo: 65_557)
        guard tail.count >= 22 else { return false }
        return (0...tail.count - 22).reversed().contains { position in
            guard tail[position] == 0x50, tail[position...].starts(with: [0x50, 0x4B, 0x05, 0x06]) else { return false }
            let comment = Int(tail[position + 20]) | Int(tail[position + 21]) << 8
            return position + 22 + comment <= tail.count
        }
    }

    private static func hasMarkup(_ bytes: [UInt8]) -> Bool {
        let text = lowercase(bytes)
        return markup.contains(where: text.contains)
    }

    private static func lowercase(_ bytes: [UInt8]) -> String {
        String(
            decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 < 0x80 ? $0 : 0x3F },
            as: Unicode.ASCII.self
        )
    }

    private static func contains(_ bytes: [UInt8], _ signature: String) -> Bool {
        let signature = latin(signature)
        return bytes.indices.contains { bytes[$0] == signature[0] && bytes[$0...].starts(with: signature) }
    }

    private static func latin(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}
