import Blobs
import Logging
import Postgres
import Wire

/// Serves stored images to every client that has the key.
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

    /// Opens the file of a blob; nil if the blob is not in a file or the file cannot be opened.
    ///
    /// `open` reports the reason.
    func openFile(_ served: ServedBlob) -> CInt? {
        guard let files = blobs as? any FileBlobStore else { return nil }
        return try? files.openFile(served.key.blob)
    }

    func revalidate() async throws {
        try await cache.revalidate { try await BlobRecordStore(db: database.reads).served(among: $0) }
    }

    func open(_ served: ServedBlob) async throws -> any Blob {
        guard let blob = try await blobs.open(served.key.blob) else {
            logger.error("stored blob is missing", metadata: ["key": "\(served.key)"])
            throw Self.notFound
        }
        return blob
    }

    private static var notFound: APIError { APIError(.notFound, "media_not_found", "there is no image with this key") }
}
