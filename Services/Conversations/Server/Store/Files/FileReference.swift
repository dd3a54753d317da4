import Blobs

/// A file as stored in the `data` of its message's row: key, size and name, separated by spaces.
struct FileReference: Hashable, Sendable {
    /// The `encoding` of a message with a file.
    static let encoding = "url"

    let key: BlobKey
    /// In bytes.
    let size: Int64
    /// Safe to show; nil when the sender gave no name.
    let name: String?

    init(key: BlobKey, size: Int64, name: String?) {
        self.key = key
        self.size = size
        self.name = name
    }

    /// Nil for other data, such as that of a deleted message.
    init?(stored: String) {
        let parts = stored.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let key = BlobKey(parts[0]), let size = Int64(parts[1]) else { return nil }
        self.init(key: key, size: size, name: parts[2].isEmpty ? nil : String(parts[2]))
    }

    var stored: String { "\(key) \(size) \(name ?? "")" }
}

/// The content of a message with a file, whose bytes are stored.
struct FileContent: Sendable {
    let reference: FileReference
    /// Detected from the bytes.
    let mediaType: String
}
