import Blobs
import ConversationsAPI
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceHost
import Wire

/// The rules of files: members send them as messages, and clients with a link read them.
///
/// A row in `files` is inserted before the first byte and deleted after the last. A message takes its file in the
/// transaction that writes the message. An interruption leaves a file that is due for deletion, and ``sweep()`` removes
/// it.
struct Files: Sendable {
    /// The maximum size of a file in base64 within JSON, in bytes.
    static let maximumBase64: Int64 = 5_242_880
    /// The maximum size of JSON without a file, in bytes.
    private static let smallJSON = 1_048_576
    /// The maximum duration of an upload, in seconds.
    private static let uploadLifetime: TimeInterval = 86_400
    private static let sweepBatch = 20

    let database: PostgresPool
    let blobs: any BlobStore
    let messages: Messages
    let links: FileLinks
    let slots: UploadConcurrencyLimit
    /// The limit for JSON bodies with a file, which are completely in memory: about 40 MB each.
    let textSlots = UploadConcurrencyLimit(capacity: 4, ofUser: 2)
    /// The maximum size of a file, in bytes.
    let limit: Int64
    let quota: StorageQuota
    let logger: Logger

    /// Sends a file to a conversation; `receive` stores the bytes and returns the message's draft.
    ///
    /// When an earlier attempt has sent the message, returns that message and discards these bytes. The event about the
    /// message is not sent to `connection`, which made the request.
    func send(
        to token: ConversationToken,
        by sender: User.ID,
        through connection: Connection? = nil,
        _ receive: (FileReceiver) async throws -> ReceivedFile
    ) async throws -> Message {
        try await quota.require(FileStore(db: database).storedBytes(of: sender), room: 1)
        return try await slots.use(sender) {
            let key = FileKey(blob: .random(), conversation: token.id)
            guard
                try await FileStore(db: database).insertPending(
                    key.blob,
                    in: token,
                    by: sender,
                    uploadLifetime: Self.uploadLifetime
                )
            else {
                throw Conversations.notFound
            }
            do {
                let file = try await receive(FileReceiver(key: key.blob, blobs: blobs, limit: limit))
                guard file.stored.size > 0 else { throw APIError.missing("file") }
                guard
                    try await FileStore(db: database).count(key, size: file.stored.size, quota: quota.maximum)
                else { throw quota.error }
                let name = FileName.cleaned(file.name) ?? FileName.cleaned(Self.name(in: file.draft.meta))
                let content = FileContent(
                    reference: FileReference(key: key.blob, size: file.stored.size, name: name),
                    mediaType: file.stored.mediaType
                )
                let message = try await messages.send(
                    file.draft,
                    file: content,
                    to: token,
                    by: sender,
                    through: connection
                )
                await discard(key)
                return message
            } catch {
                await discard(key)
                throw error
            }
        }
    }

    /// Runs `body`, which reads JSON of `bytes` bytes; large JSON takes one of the few slots.
    func withTextSlot<Value>(_ bytes: Int, of user: User.ID, _ body: () async throws -> Value) async throws -> Value {
        bytes > Self.smallJSON ? try await textSlots.use(user, body) : try await body()
    }

    /// Sends the draft's data: a text, or a file in base64 as diuit's clients send it.
    func send(
        _ draft: MessageDraft,
        to token: ConversationToken,
        by sender: User.ID,
        through connection: Connection? = nil
    ) async throws -> Message {
        guard draft.encoding == "base64" else {
            return try await messages.send(draft, to: token, by: sender, through: connection)
        }
        return try await send(base64: draft, to: token, by: sender, through: connection)
    }

    private func send(
        base64 draft: MessageDraft,
        to token: ConversationToken,
        by sender: User.ID,
        through connection: Connection?
    ) async throws -> Message {
        guard !draft.data.isEmpty else { throw APIError.missing("data") }
        let maximum = min(Self.maximumBase64, limit)
        let text = draft.data.utf8.filter { !" \t\r\n".utf8.contains($0) }
        guard text.count <= (maximum + 2) / 3 * 4 else { throw Self.tooLarge(maximum, field: "data") }
        guard text.count.isMultiple(of: 4), let bytes = Data(base64Encoded: Data(text)) else {
            throw APIError.invalid("data", "\"data\" must be base64", code: "malformed_field")
        }
        guard bytes.count <= maximum else { throw Self.tooLarge(maximum, field: "data") }
        return try await send(to: token, by: sender, through: connection) { receiver in
            let stored = try await receiver.store { sink in try await sink.write(ByteBuffer(bytes: bytes)) }
            return ReceivedFile(draft: draft, name: nil, stored: stored)
        }
    }

    /// Opens the file of a verified link.
    func open(_ key: FileKey) async throws -> OpenedFile {
        let notFound = APIError(.notFound, "file_not_found", "the file no longer exists")
        guard let content = try await FileStore(db: database.reads).find(key) else { throw notFound }
        guard let blob = try await blobs.open(key.blob) else {
            logger.error("file of a message is missing", metadata: ["key": "\(key)"])
            throw notFound
        }
        return OpenedFile(key: key, content: content, blob: blob)
    }

    /// Removes files without a message: the message was deleted, or the file never had one.
    ///
    /// Does not run during a backup, which must contain every file that its database refers to.
    func sweep() async throws {
        try await deleteExpired {
            try await FileStore(db: database.reads).due(limit: $0)
        } _: { failed in
            try await database.transaction { db in
                let store = FileStore(db: db)
                guard try await store.lockDeletion() else { return nil }
                var (gone, failures): ([FileKey], [FileKey: any Error]) = ([], [:])
                for key in try await store.due(limit: Self.sweepBatch + failed.count) where !failed.contains(key) {
                    do {
                        try await blobs.delete(key.blob)
                        gone.append(key)
                    } catch {
                        failures[key] = error
                    }
                }
                // Last, because this statement locks rows of users, which must not be locked while files are removed.
                try await store.deleteRows(gone)
                return failures
            }
        }
    }

    /// Returns the file's name in `meta`, for a request without another: `{"name": "sampleFile.pdf"}` (seed diuit,
    /// "Sending Files").
    private static func name(in meta: JSONValue?) -> String? {
        guard case .object(let fields) = meta, case .string(let name) = fields["name"] else { return nil }
        return name
    }

    /// Removes a file that no message has; after a failure, the sweep removes it.
    private func discard(_ key: FileKey) async {
        // A separate task, because the file must be removed even when the sender's request is cancelled.
        await Task {
            do {
                let store = FileStore(db: database)
                guard try await store.discard(key) else { return }
                try await blobs.delete(key.blob)
                try await store.deleteRows([key])
            } catch {
                logger.warning("cannot discard file", metadata: ["error": "\(error)"])
            }
        }.value
    }

    static func tooLarge(_ limit: Int64, field: String) -> APIError {
        APIError(.tooLarge, "file_too_large", "a file may have at most \(limit) bytes here", field: field)
    }
}

/// The destination of one file's bytes.
struct FileReceiver: Sendable {
    fileprivate let key: BlobKey
    fileprivate let blobs: any BlobStore
    fileprivate let limit: Int64

    /// Stores the bytes that `fill` writes; called once per upload.
    func store(_ fill: (any BlobSink) async throws -> Void) async throws -> StoredBlob {
        try await blobs.put(key, limit: limit, fill)
    }
}

/// A stored file, with the draft of its message.
struct ReceivedFile: Sendable {
    /// The draft's `data` is ignored.
    let draft: MessageDraft
    /// The file's name in the request outside of the draft, as in a multipart body.
    let name: String?
    let stored: StoredBlob
}

/// A file that is open for reading.
struct OpenedFile: Sendable {
    let key: FileKey
    let content: FileContent
    let blob: any Blob
}
