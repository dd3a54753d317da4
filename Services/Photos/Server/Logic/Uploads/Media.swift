import Blobs
import Logging
import Postgres
import Wire

/// What anybody may read who knows its key.
struct Media: Sendable {
    let database: PostgresPool
    let blobs: any BlobStore
    let logger: Logger

    func find(_ key: String) async throws -> ServedBlob {
        guard let key = MediaKey(key), let served = try await BlobNoteStore(db: database.reads).served(key) else {
            throw Self.notFound
        }
        return served
    }

    func open(_ served: ServedBlob) async throws -> any Blob {
        guard let blob = try await blobs.open(served.key.blob) else {
            logger.error("a blob that something has is missing", metadata: ["key": "\(served.key)"])
            throw Self.notFound
        }
        return blob
    }

    private static var notFound: APIError { APIError(.notFound, "media_not_found", "there is nothing under this key") }
}
