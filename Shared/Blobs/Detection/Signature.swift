/// File signatures (WHATWG MIME Sniffing, and the specifications of the formats).
enum Signature {
    /// Returns the media type of a file's first bytes, or nil if no signature matches.
    static func mediaType(of head: [UInt8]) -> String? {
        let head = FileHead(bytes: head)
        return image(head) ?? container(head) ?? sound(head) ?? document(head)
    }

    private static func image(_ head: FileHead) -> String? {
        if head.has([0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if head.has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if head.has("GIF87a") || head.has("GIF89a") { return "image/gif" }
        if head.has("II"), head.has([0x2A, 0x00], at: 2) { return "image/tiff" }
        if head.has("MM"), head.has([0x00, 0x2A], at: 2) { return "image/tiff" }
        // Two letters are not a sufficient signature: the size of the following header must be a known one.
        if head.has("BM"), head.has([0, 0, 0, 0], at: 6), head.has([0, 0, 0], at: 15),
            [12, 40, 52, 56, 64, 108, 124].contains(head[14])
        {
            return "image/bmp"
        }
        return nil
    }

    /// Containers of audio, images or video.
    private static func container(_ head: FileHead) -> String? {
        if head.has("RIFF") {
            if head.has("WEBP", at: 8) { return "image/webp" }
            if head.has("WAVE", at: 8) { return "audio/wav" }
            if head.has("AVI ", at: 8) { return "video/x-msvideo" }
        }
        if head.has("ftyp", at: 4) { return isoMedia(head) }
        if head.has([0x1A, 0x45, 0xDF, 0xA3]) {
            return head.contains("webm", before: 64) ? "video/webm" : "video/x-matroska"
        }
        if head.has("OggS"), head[4] == 0 {
            return head.has("\u{80}theora".unicodeScalars.map { UInt8($0.value) }, at: 28) ? "video/ogg" : "audio/ogg"
        }
        return nil
    }

    /// Uses the major brand; generic image brands are resolved by the compatible brands (ISO/IEC 14496-12, section
    /// 4.3).
    private static func isoMedia(_ head: FileHead) -> String {
        let brand = head.text(8..<12)
        switch brand {
        case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs": return "image/heic"
        case "avif", "avis": return "image/avif"
        case "mif1", "msf1":
            let end = min(Int(head[2]) << 8 | Int(head[3]), 256)
            let others = stride(from: 16, to: end - 3, by: 4).map { head.text($0..<$0 + 4) }
            if others.contains("avif") { return "image/avif" }
            return others.contains("heic") ? "image/heic" : "image/heif"
        case "qt  ": return "video/quicktime"
        case "M4A ", "M4B ", "M4P ": return "audio/mp4"
        default:
            if brand.hasPrefix("3g2") { return "video/3gpp2" }
            return brand.hasPrefix("3g") ? "video/3gpp" : "video/mp4"
        }
    }

    private static func sound(_ head: FileHead) -> String? {
        if head.has("fLaC") { return "audio/flac" }
        if head.has("#!AMR\n") || head.has("#!AMR-WB\n") { return "audio/amr" }
        // An ID3v2 tag has a version and a size in 7-bit bytes (id3.org, ID3v2.4, section 3.1).
        if head.has("ID3"), (2...4).contains(head[3]), (6...9).allSatisfy({ head[$0] < 0x80 }), head.count >= 10 {
            return "audio/mpeg"
        }
        if let length = AudioFrame.mp3Length(head, at: 0), AudioFrame.follows(head, length, AudioFrame.mp3Length) {
            return "audio/mpeg"
        }
        if let length = AudioFrame.aacLength(head, at: 0), AudioFrame.follows(head, length, AudioFrame.aacLength) {
            return "audio/aac"
        }
        return nil
    }

    private static func document(_ head: FileHead) -> String? {
        if head.has("%PDF-") { return "application/pdf" }
        if head.has([0x50, 0x4B, 0x03, 0x04]) { return ZipKind.mediaType(head) }
        if head.has([0x50, 0x4B, 0x05, 0x06]) { return ZipKind.zip }
        if head.has([0x1F, 0x8B, 0x08]) { return "application/gzip" }
        if head.has([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]) { return "application/x-7z-compressed" }
        if head.has([0x52, 0x61, 0x72, 0x21, 0x1A, 0x07]) { return "application/vnd.rar" }
        return nil
    }
}

/// The first bytes of a file; reading beyond them yields zeros.
struct FileHead {
    let bytes: [UInt8]

    var count: Int { bytes.count }

    subscript(_ index: Int) -> UInt8 { bytes.indices.contains(index) ? bytes[index] : 0 }

    func has(_ text: String, at position: Int = 0) -> Bool { has(Array(text.utf8), at: position) }

    func has(_ expected: [UInt8], at position: Int = 0) -> Bool {
        bytes.dropFirst(position).starts(with: expected)
    }

    /// Returns bytes as Latin-1 text; empty if the range is out of bounds.
    func text(_ range: Range<Int>) -> String {
        guard range.upperBound <= count else { return "" }
        return String(bytes[range].map { Character(UnicodeScalar($0)) })
    }

    func contains(_ text: String, before end: Int) -> Bool {
        let pattern = Array(text.utf8)
        return (0..<min(end, count)).contains { has(pattern, at: $0) }
    }
}
