import Blobs
import Postgres
import ServiceHost

struct UploadCleanup: Sendable {
    private static let batch = 20

    let database: PostgresPool
    let blobs: any BlobStore

    func expire() async throws {
        while try await UploadStore(db: database).expire(limit: Self.batch) > 0 {}
    }

    /// Deletes blobs that are due.
    ///
    /// Nothing is deleted during a backup: every blob in the backed-up database must exist.
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
