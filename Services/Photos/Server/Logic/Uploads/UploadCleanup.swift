import Blobs
import Postgres
import ServiceHost

/// Removes what nothing has any more: uploads whose day is over, and blobs that are due.
struct UploadCleanup: Sendable {
    private static let batch = 20

    let database: PostgresPool
    let blobs: any BlobStore

    /// Ends uploads that nothing has taken in time.
    func expire() async throws {
        while try await UploadStore(db: database).expire(limit: Self.batch) > 0 {}
    }

    /// Deletes what is due.
    ///
    /// Not while a backup is taken: what its database knows of, it must find.
    func deleteDue() async throws {
        try await deleteExpired {
            try await BlobRecordStore(db: database.reads).due(limit: $0)
        } _: { failed in
            try await database.transaction { db in
                let records = BlobRecordStore(db: db)
                guard try await records.lockDeletion() else { return nil }
                var failures: [MediaKey: any Error] = [:]
                for key in try await records.due(limit: Self.batch + failed.count) where !failed.contains(key) {
                    do {
                        try await blobs.delete(key.blob)
                    } catch {
                        failures[key] = error
                        continue
                    }
                    try await records.delete([key.blob], of: key.owner)
                }
                return failures
            }
        }
    }
}
