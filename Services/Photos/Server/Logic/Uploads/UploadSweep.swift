import Blobs
import Postgres

/// Removes what nothing has any more: uploads whose day is over, and blobs that are due.
struct UploadSweep: Sendable {
    private static let batch = 20

    let database: PostgresPool
    let blobs: any BlobStore

    /// Ends uploads that nothing has taken in time.
    func expire() async throws {
        while try await UploadStore(db: database).expire(limit: Self.batch) == Self.batch {}
    }

    /// Deletes what is due.
    ///
    /// Not while a backup is taken: what its database knows of, it must find.
    func sweep() async throws {
        while try await !BlobNoteStore(db: database.reads).due(limit: 1).isEmpty {
            let isFree = try await database.transaction { db in
                let notes = BlobNoteStore(db: db)
                guard try await notes.lockDeletion() else { return false }
                for key in try await notes.due(limit: Self.batch) {
                    try await blobs.delete(key.blob)
                    try await notes.forget([key.blob], of: key.owner)
                }
                return true
            }
            guard isFree else { return }
        }
    }
}
