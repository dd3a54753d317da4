import Blobs
import Logging
import Postgres
import Wire

/// What anybody may read who knows its key.
struct Media: Sendable {
    let database: PostgresPool
    let blobs: any BlobStore
    let logger: Logger
    let cache = MediaCache()

    func find(_ key: String) async throws -> ServedBlob {
        guard let key = MediaKey(key), let served = try await BlobRecordStore(db: database.reads).served(key) else {
            throw Self.notFound
        }
        cache.insert(served)
        return served
    }

    /// The number of its open file; nil where there is none, or it cannot be opened: `open` says why.
    func openFile(_ served: ServedBlob) -> CInt? {
        guard let files = blobs as? any FileBlobStore else { return nil }
        return try? files.openFile(served.key.blob)
    }

    /// Looks which of those that are known are gone.
    func revalidate() async throws {
        try await cache.revalidate { try await BlobRecordStore(db: database.reads).served(among: $0) }
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
