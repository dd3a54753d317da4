import Blobs
import Postgres
import ServiceHost
import Wire

/// The photos part of a user's data export: profile, posts, comments, likes, flags, follows and images.
struct PersonExport: Sendable {
    private static let fileExtensions = [
        "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp",
    ]

    let database: PostgresPool
    let blobs: any BlobStore

    func write(_ user: User.ID, to export: inout ExportWriter) async throws {
        guard let person = try await PeopleStore(db: database).find(user)?.id else { return }
        let store = ExportStore(db: database)
        try await export.json("profile.json", try await store.profile(of: person))
        try await export.list("posts.json") { try await store.posts(of: person, after: $0) }
        try await export.list("comments.json") { try await store.comments(of: person, after: $0) }
        try await export.list("likes.json") { try await store.likes(of: person, after: $0) }
        try await export.list("flags.json") { try await store.flags(of: person, after: $0) }
        try await export.list("following.json") { try await store.following(of: person, after: $0) }
        var last: Int64 = 0
        while true {
            let images = try await store.images(of: person, after: last)
            guard let end = images.last?.file else { return }
            for (_, image) in images { try await write(image, to: &export) }
            last = end
        }
    }

    private func write(_ image: ExportStore<PostgresPool>.Image, to export: inout ExportWriter) async throws {
        let fileExtension = image.mediaType.flatMap { Self.fileExtensions[$0] } ?? "bin"
        try await export.file("images/\(image.key).\(fileExtension)", image.key, in: blobs)
    }
}
