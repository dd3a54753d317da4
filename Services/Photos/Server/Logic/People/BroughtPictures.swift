import Foundation
import Logging
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// Brings the pictures that people have at the places they sign in by, for those who have none here.
struct BroughtPictures: Sendable {
    private static let batch = 4
    /// What one may take from the first byte to the last.
    private static let patience: Duration = .seconds(60)
    /// How often one is tried, five minutes apart.
    private static let maximumAttempts = 5
    private static let maximumLength = 2_048

    let database: PostgresPool
    let profiles: Profiles
    let uploads: Uploads
    let source: PictureSource
    let logger: Logger

    /// Notes that somebody has a picture elsewhere; one who has not been here yet gets it when he is.
    func note(_ url: String, of user: User.ID, in db: PostgresTransaction) async throws {
        guard url.unicodeScalars.count <= Self.maximumLength, source.mayAsk(url) else { return }
        let person = try await PeopleStore(db: db).mention(user)
        try await PictureWishStore(db: db).insert(url, of: person)
    }

    /// Brings what is due, on any instance and on several at once.
    func bring() async throws {
        for wish in try await PictureWishStore(db: database).take(Self.batch) { try await bring(wish) }
    }

    private func bring(_ wish: PictureWishStore<PostgresPool>.Wish) async throws {
        let isDone: Bool
        do {
            let upload = try await within(Self.patience) {
                try await uploads.take(for: wish.person) { sink in try await source.read(wish.url, into: sink) }
            }
            // Who has chosen one meanwhile keeps that; what was brought ends as uploads do that nobody takes.
            _ = try await profiles.give(upload.uploadId, to: wish.person)
            isDone = true
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let kind = (error as? APIError)?.kind
            // What is there is no picture that we take, and will be none.
            let isHopeless = kind.map { $0.status < 500 && $0 != .rateLimited } ?? false
            isDone = isHopeless || wish.attempts >= Self.maximumAttempts
            logger.notice("picture not brought", metadata: ["isGivenUp": "\(isDone)", "attempts": "\(wish.attempts)"])
        }
        if isDone { try await PictureWishStore(db: database).delete(of: wish.person) }
    }
}
