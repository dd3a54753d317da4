import Blobs
import Foundation
import NIOCore
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// The files of posts at public addresses, for networks that fetch media themselves (Instagram).
///
/// An address is signed, so it cannot be guessed, and is good for an hour. The files of a post for later are in the database
/// already; those of a post at once are stored there until the networks have answered.
struct PostMedia: Sendable {
    /// How long an address is good, in seconds: Instagram fetches at once, and tries again for minutes.
    static let lifetime: TimeInterval = 3_600
    /// How many bytes of one user's posts at once may be stored, where the quota is not smaller.
    private static let maximumBytes: Int64 = 268_435_456
    private static let list = "social/post media"
    /// An address belongs to no user: the network that fetches it has no account here.
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

    /// Stores the files of a post at once; the files of an earlier attempt are replaced.
    ///
    /// - Throws: `storage_quota_exceeded` where too many bytes of the user's posts are stored.
    func save(_ content: PostContent, of post: PostRecord) async throws {
        let quota = StorageQuota(bytes: min(Self.maximumBytes, quota.maximum))
        try await database.transaction { db in
            let stored = try await PostStore(db: db).lockFetched(of: post.user, except: post.id)
            try quota.require(Int64(stored), room: Int64(content.bytes))
            try await MediaStore(db: db).insert(content, of: post.id)
        }
    }

    /// The content with addresses in place of those that the files came from.
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

    /// The file that an address names.
    ///
    /// - Throws: `media_not_found` for an address that was not made here or has expired, and for a file that is gone.
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

    /// Removes the files of a post at once that no network fetches any more.
    func discard(_ post: UUID) async throws { try await MediaStore(db: database).delete(of: post) }

    /// Removes the files of posts at once whose addresses have expired.
    func sweep() async throws {
        try await MediaStore(db: database).deleteFetched(postedBefore: now().addingTimeInterval(-Self.lifetime))
    }
}

/// A post's file, read in pieces from the database.
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
