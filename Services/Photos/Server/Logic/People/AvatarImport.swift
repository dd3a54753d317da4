import Foundation
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// Brings the pictures that people have at the places they sign in by, for those who have none here.
struct AvatarImport: Sendable {
    private static let batch = 4
    /// What one may take from the first byte to the last.
    private static let timeout: Duration = .seconds(60)
    /// How often one is tried, five minutes apart.
    private static let maximumAttempts = 5
    private static let maximumLength = 2_048

    let database: PostgresPool
    let profiles: Profiles
    let uploads: Uploads
    let source: AvatarDownloader
    let logger: Logger

    /// Notes that somebody has a picture elsewhere; one who has not been here yet gets it when he is.
    func record(_ url: String, of user: User.ID, in db: PostgresTransaction) async throws {
        guard url.unicodeScalars.count <= Self.maximumLength, source.mayConnect(url) else { return }
        let person = try await PeopleStore(db: db).ensureRow(user)
        try await AvatarImportStore(db: db).insert(url, of: person)
    }

    /// Brings what is due, on any instance and on several at once.
    func runImports() async throws {
        for pending in try await AvatarImportStore(db: database).claim(Self.batch) { try await runImports(pending) }
    }

    private func runImports(_ pending: AvatarImportStore<PostgresPool>.PendingImport) async throws {
        let isDone: Bool
        do {
            let upload = try await within(Self.timeout) {
                try await uploads.create(for: pending.person) { sink in try await source.read(pending.url, into: sink) }
            }
            // Who has chosen one meanwhile keeps that; what was brought ends as uploads do that nobody takes.
            _ = try await profiles.setPictureIfNone(upload.uploadId, to: pending.person)
            isDone = true
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let kind = (error as? APIError)?.kind
            // What is there is no picture that we take, and will be none.
            let isPermanent = kind.map { $0.status < 500 && $0 != .rateLimited } ?? false
            isDone = isPermanent || pending.attempts >= Self.maximumAttempts
            logger.notice(
                "picture not brought",
                metadata: ["isGivenUp": "\(isDone)", "attempts": "\(pending.attempts)"]
            )
        }
        if isDone { try await AvatarImportStore(db: database).delete(of: pending.person) }
    }
}
