import Blobs

/// A file as its message's row has it in `data`: key, size and name, with spaces between.
struct FileReference: Hashable, Sendable {
    /// The `encoding` of a message that is a file.
    static let encoding = "url"

    let key: BlobKey
    /// In bytes.
    let size: Int64
    /// Fit to be shown; nil where the sender gave none.
    let name: String?

    init(key: BlobKey, size: Int64, name: String?) {
        self.key = key
        self.size = size
        self.name = name
    }

    /// Nil for what is none, as the data of a message that was deleted.
    init?(stored: String) {
        let parts = stored.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let key = BlobKey(parts[0]), let size = Int64(parts[1]) else { return nil }
        self.init(key: key, size: size, name: parts[2].isEmpty ? nil : String(parts[2]))
    }

    var stored: String { "\(key) \(size) \(name ?? "")" }
}

/// What a file message says, once its bytes are kept.
struct FileContent: Sendable {
    let reference: FileReference
    /// By its bytes.
    let mediaType: String
}
