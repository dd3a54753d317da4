import Foundation
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// Imports the avatars of users who sign in with an external provider and have no avatar in photos.
struct AvatarImport: Sendable {
    private static let batch = 4
    private static let timeout: Duration = .seconds(60)
    /// How many times an import is attempted, five minutes apart.
    private static let maximumAttempts = 5
    private static let maximumLength = 2_048

    let database: PostgresPool
    let profiles: Profiles
    let uploads: Uploads
    let source: AvatarDownloader
    let logger: Logger

    /// Records the URL of an avatar to import; the import starts when the user first uses photos.
    func record(_ url: String, of user: User.ID, in db: PostgresTransaction) async throws {
        guard url.unicodeScalars.count <= Self.maximumLength, source.mayConnect(url) else { return }
        let person = try await PeopleStore(db: db).ensureRow(user)
        try await AvatarImportStore(db: db).insert(url, of: person)
    }

    /// Runs the due imports; several instances may run it at the same time.
    func runImports() async throws {
        for pending in try await AvatarImportStore(db: database).claim(Self.batch) { try await runImports(pending) }
    }

    private func runImports(_ pending: AvatarImportStore<PostgresPool>.PendingImport) async throws {
        let isDone: Bool
        do {
            let upload = try await within(Self.timeout) {
                try await uploads.create(for: pending.person) { sink in try await source.read(pending.url, into: sink) }
            }
            // A user who chose a picture during the import keeps it; the unused upload expires.
            _ = try await profiles.setPictureIfNone(upload.uploadId, to: pending.person)
            isDone = true
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let kind = (error as? APIError)?.kind
            // The file is not an accepted image, and a retry cannot change that.
            let isPermanent = kind.map { $0.status < 500 && $0 != .rateLimited } ?? false
            isDone = isPermanent || pending.attempts >= Self.maximumAttempts
            logger.notice(
                "avatar import failed",
                metadata: ["isGivenUp": "\(isDone)", "attempts": "\(pending.attempts)"]
            )
        }
        if isDone { try await AvatarImportStore(db: database).delete(of: pending.person) }
    }
}
