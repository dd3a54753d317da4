import Blobs
import ConversationsAPI
import Foundation
import Logging
import NIOCore
import Postgres
import ServiceHost
import Wire

/// The rules of files: members send them as messages, and who has a link reads them.
///
/// A row in `files` comes before the first byte and goes after the last, and a message takes its file in the transaction
/// that writes it. Whatever breaks off in between leaves a file that is due, and ``sweep()`` removes it.
struct Files: Sendable {
    /// Of a file that comes as base64 inside of JSON.
    static let maximumBase64: Int64 = 5_242_880
    /// What JSON without a file in it may have, in bytes.
    private static let smallJSON = 1_048_576
    /// How long a file may be on its way, in seconds.
    private static let uploadLifetime: TimeInterval = 86_400
    private static let sweepBatch = 20

    let database: PostgresPool
    let blobs: any BlobStore
    let messages: Messages
    let links: FileLinks
    let slots: UploadConcurrencyLimit
    /// For bodies of JSON with a file in them, which are in memory as a whole: some 40 MB each.
    let textSlots = UploadConcurrencyLimit(capacity: 4, ofUser: 2)
    /// In bytes.
    let limit: Int64
    let quota: StorageQuota
    let logger: Logger

    /// Says a file in a conversation; `receive` puts its bytes where it is told to, and answers with what goes with it.
    ///
    /// Where an earlier attempt has said it, the answer is that message, and these bytes are not kept. A socket that it
    /// came `through` is not told of it again.
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

    /// Runs `body`, which reads JSON of so many bytes, in one of the few places for large ones if need be.
    func withTextSlot<Value>(_ bytes: Int, of user: User.ID, _ body: () async throws -> Value) async throws -> Value {
        bytes > Self.smallJSON ? try await textSlots.use(user, body) : try await body()
    }

    /// Says what a draft has in its data: a text, or a file as base64, as diuit's clients send theirs.
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

    /// The file of a link.
    func open(_ key: FileKey) async throws -> OpenedFile {
        let notFound = APIError(.notFound, "file_not_found", "the file is no longer there")
        guard let content = try await FileStore(db: database.reads).find(key) else { throw notFound }
        guard let blob = try await blobs.open(key.blob) else {
            logger.error("a file that a message has is missing", metadata: ["key": "\(key)"])
            throw notFound
        }
        return OpenedFile(key: key, content: content, blob: blob)
    }

    /// Removes files that nobody has any more: their messages are gone, or they never had one.
    ///
    /// Not while a backup is taken: what its database knows of, it must find.
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
                // Last, since it locks rows of users, which nobody holds while files are removed.
                try await store.deleteRows(gone)
                return failures
            }
        }
    }

    /// The file's name where the request has no other one: `{"name": "sampleFile.pdf"}` (seed diuit, "Sending Files").
    private static func name(in meta: JSONValue?) -> String? {
        guard case .object(let fields) = meta, case .string(let name) = fields["name"] else { return nil }
        return name
    }

    /// Removes a file unless a message has it; what fails is left to the sweep.
    private func discard(_ key: FileKey) async {
        // A task of its own: that the sender has gone is no reason to leave anything.
        await Task {
            do {
                let store = FileStore(db: database)
                guard try await store.discard(key) else { return }
                try await blobs.delete(key.blob)
                try await store.deleteRows([key])
            } catch {
                logger.warning("a file is left to the sweep", metadata: ["error": "\(error)"])
            }
        }.value
    }

    static func tooLarge(_ limit: Int64, field: String) -> APIError {
        APIError(.tooLarge, "file_too_large", "a file may have \(limit) bytes here", field: field)
    }
}

/// Where the bytes of one file go.
struct FileReceiver: Sendable {
    fileprivate let key: BlobKey
    fileprivate let blobs: any BlobStore
    fileprivate let limit: Int64

    /// Once for each intake.
    func store(_ fill: (any BlobSink) async throws -> Void) async throws -> StoredBlob {
        try await blobs.put(key, limit: limit, fill)
    }
}

/// A file whose bytes are kept, and the message that it is to be.
struct ReceivedFile: Sendable {
    /// Its `data` is not looked at.
    let draft: MessageDraft
    /// As the request gave it apart from the draft: the file name of a multipart body.
    let name: String?
    let stored: StoredBlob
}

/// A file that is being read.
struct OpenedFile: Sendable {
    let key: FileKey
    let content: FileContent
    let blob: any Blob
}
