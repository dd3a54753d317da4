/// Document formats that are zip archives.
enum ZipKind {
    static let zip = "application/zip"

    private static let office = [
        "word/": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xl/": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt/": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ]

    /// The recognised contents of an entry `mimetype` (OpenDocument 1.3 part 2, section 3.3; EPUB OCF 3.3, section
    /// 4.3).
    private static let named = [
        "application/epub+zip", "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.presentation",
    ]

    /// Returns the media type according to the names of the first entries.
    static func mediaType(_ head: FileHead) -> String {
        for start in 0..<max(0, head.count - 30) where head[start] == 0x50 {
            guard head.has([0x50, 0x4B, 0x03, 0x04], at: start) else { continue }
            let name = start + 30
            if head.has("mimetype", at: name) {
                let content = name + 8 + Int(head[start + 28])
                // The longest first, since a type may be a prefix of another.
                let types = named.sorted { $0.utf8.count > $1.utf8.count }
                if let type = types.first(where: { head.has($0, at: content) }) { return type }
            }
            if let type = office.first(where: { head.has($0.key, at: name) }) { return type.value }
        }
        return zip
    }
}
