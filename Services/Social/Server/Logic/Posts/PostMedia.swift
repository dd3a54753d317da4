import Blobs
import Foundation
import NIOCore
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Public addresses of posts' files, for networks that fetch media themselves (Instagram).
///
/// An address is signed, so that it cannot be guessed, and is valid for an hour. The files of a scheduled post are in
/// the database already. Those of an immediate post are stored there until the networks have responded.
struct PostMedia: Sendable {
    /// The lifetime of an address in seconds: Instagram fetches immediately, and retries for some minutes.
    static let lifetime: TimeInterval = 3_600
    /// The maximum number of stored bytes of a user's immediate posts, if the quota is not smaller.
    private static let maximumBytes: Int64 = 268_435_456
    private static let list = "social/post media"
    /// An address has no user, because the network that fetches it has no account here.
    private static let noUser = User.ID(application: "", user: "")

    private struct Link: Codable {
        var post: UUID
        var element: PostElement
        var until: Date
    }

    let database: PostgresPool
    let cursors: CursorSigner
    let publicURL: String
    let quota: StorageQuota
    let now: @Sendable () -> Date

    /// Stores the files of an immediate post and replaces those of an earlier attempt.
    ///
    /// - Throws: `storage_quota_exceeded` if the user's posts have too many stored bytes.
    func save(_ content: PostContent, of post: PostRecord) async throws {
        let quota = StorageQuota(bytes: min(Self.maximumBytes, quota.maximum))
        try await database.transaction { db in
            let stored = try await PostStore(db: db).lockFetched(of: post.user, except: post.id)
            try quota.require(Int64(stored), room: Int64(content.bytes))
            try await MediaStore(db: db).insert(content, of: post.id)
        }
    }

    /// Returns the content with the public addresses of its files.
    func addressed(_ content: PostContent, of post: UUID) throws -> PostContent {
        var content = content
        if content.photo != nil { content.photo?.url = try url(of: .photo, of: post) }
        if content.video != nil { content.video?.url = try url(of: .video, of: post) }
        return content
    }

    private func url(of element: PostElement, of post: UUID) throws -> String {
        let link = Link(post: post, element: element, until: now().addingTimeInterval(Self.lifetime))
        return "\(publicURL)/feed/media/\(try cursors.sign(link, of: Self.list, for: Self.noUser))"
    }

    /// Returns the file of an address.
    ///
    /// - Throws: `media_not_found` if the address was not created here or has expired, or if the file was deleted.
    func find(_ token: String) async throws -> (reply: BlobResponse, file: PostFile) {
        let notFound = APIError(.notFound, "media_not_found", "the address is unknown or has expired")
        let link: Link
        do {
            link = try cursors.position(token, of: Self.list, for: Self.noUser)
        } catch is APIError {
            throw notFound
        }
        guard link.until > now(),
            let found = try await MediaStore(db: database).describe(link.element, of: link.post)
        else { throw notFound }
        let reply = BlobResponse(
            eTag: "\"\(link.post.uuidString.lowercased())-\(link.element.rawValue)\"",
            size: found.size,
            cacheControl: "private, no-store",
            mediaType: found.type,
            disposition: "inline"
        )
        return (reply, PostFile(database: database, post: link.post, element: link.element, size: found.size))
    }

    /// Removes the files of an immediate post that no network fetches any longer.
    func discard(_ post: UUID) async throws { try await MediaStore(db: database).delete(of: post) }

    /// Removes the files of immediate posts whose addresses have expired.
    func sweep() async throws {
        try await MediaStore(db: database).deleteFetched(postedBefore: now().addingTimeInterval(-Self.lifetime))
    }
}

/// A post's file, read from the database in pieces.
struct PostFile: Blob {
    let database: PostgresPool
    let post: UUID
    let element: PostElement
    let size: Int64

    func read(_ range: Range<Int64>, _ consume: (ByteBuffer) async throws -> Void) async throws {
        var offset = max(0, range.lowerBound)
        let end = min(range.upperBound, size)
        while offset < end {
            let length = min(Int64(BlobLimits.piece), end - offset)
            let piece = try await MediaStore(db: database).piece(of: element, of: post, from: offset, length: length)
            guard Int64(piece.count) == length else { throw BlobError.unavailable("the file was removed") }
            try await consume(ByteBuffer(bytes: piece))
            offset += length
        }
    }
}
