import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import SocialAPI
import Wire

/// The connector of the suite's own photos and conversations.
///
/// Calls use the caller's credential, so that the caller reads only what those services allow. Background work has no
/// credential and cannot read anything.
struct RoostConnector: Connector {
    let network = Network.roost
    let photos: ServiceClient
    let conversations: ServiceClient

    /// Both services detect repetitions: photos by the key of a delegated post, conversations by `clientMessageId`.
    var isIdempotent: Bool { true }

    private static let limits = PostLimits(
        text: 1_999,
        textUnit: .characters,
        photos: 10,
        photoBytes: 20_971_520,
        photoTypes: ["image/jpeg", "image/png", "image/gif", "image/webp"],
        reply: 65_536
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        AccountCapabilities(
            supported: [.feed, .messages, .photo, .text, .like, .reply],
            limits: Self.limits,
            reasons: [
                .notifications: "the suite notifies by push", .video: "photos has no videos",
                .location: "photos' posts have no location", .favorite: "photos has likes instead of favourites",
            ]
        )
    }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        let profile = try await mappingErrors { try await PhotosClient(authorized(photos, account)).me() }
        return NetworkIdentity(id: profile.userId, name: profile.fullName)
    }

    private struct Position: Codable { var cursor: String }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let cursor = try page.position(Position.self)?.cursor
        let posts = try await mappingErrors {
            try await PhotosClient(authorized(photos, account)).home(
                limit: min(max(page.limit, 1), 100),
                cursor: cursor
            )
        }
        return NetworkPage(
            posts.items.map { NetworkItem(RoostItems.post($0, page)) },
            next: try posts.next.map { try NetworkCursor(Position(cursor: $0)) }
        )
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let cursor = try page.position(Position.self)?.cursor
        let found = try await mappingErrors {
            try await ConversationsClient(authorized(conversations, account))
                .list(limit: min(max(page.limit, 1), 100), cursor: cursor)
        }
        return NetworkPage(
            found.items.compactMap { RoostItems.thread($0, of: account, page).map { NetworkItem($0) } },
            next: try found.next.map { try NetworkCursor(Position(cursor: $0)) }
        )
    }

    private struct MessageCursor: Codable { var before: Int64 }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let limit = min(max(page.limit, 1), 100)
        var query = [("count", String(limit))]
        if let cursor = try page.position(MessageCursor.self) { query.append(("beforeSeq", String(cursor.before))) }
        let messages = try await mappingErrors {
            try await ConversationsClient(authorized(conversations, account)).messages(thread, query: query)
        }
        let lowest = messages.map(\.seq).min()
        let next = messages.count == limit ? lowest.flatMap { $0 > 1 ? $0 : nil } : nil
        return NetworkPage(
            messages.sorted { $0.seq > $1.seq }.compactMap {
                RoostItems.message($0, in: thread, page).map { NetworkItem($0) }
            },
            next: try next.map { try NetworkCursor(MessageCursor(before: $0)) }
        )
    }
}

extension RoostConnector {
    /// The uploads of a post's photos, with their alternative texts.
    private struct Prepared: Codable {
        var images: [ImageDraft]
    }

    /// Uploads the photos that are not uploads in photos yet; an upload is valid for a day.
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try Self.limits.check(post)
        var images: [ImageDraft] = []
        for photo in post.photos {
            var upload = photo.upload
            if upload == nil {
                upload = try await mappingErrors {
                    let bytes = Data(photo.bytes.readableBytesView)
                    return try await delegatedPosts.upload(bytes, as: photo.type, for: account.owner).uploadId
                }
            }
            if let upload { images.append(ImageDraft(uploadId: upload, alt: photo.alt)) }
        }
        return try NetworkCursor(Prepared(images: images))
    }

    /// Publishes on behalf of the user, who may have scheduled the post long ago and has no credential here.
    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        guard let images = try prepared?.read(as: Prepared.self).images else {
            throw NetworkError(.invalid, "the post was not prepared", code: "not_prepared")
        }
        let request = DelegatedPostRequest(
            for: account.owner,
            key: post.key,
            PostDraft(text: post.text, images: images)
        )
        return PublishedPost(
            id: try await mappingErrors(isWrite: true) { try await delegatedPosts.create(request).postId }
        )
    }

    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        do {
            return PublishedPost(
                id: try await mappingErrors { try await delegatedPosts.find(post.key, of: account.owner).postId }
            )
        } catch let error as NetworkError where error.kind == .notFound {
            return nil
        }
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try Self.limits.check(reply)
        let draft = MessageDraft(data: reply.text, clientMessageId: reply.key.uuidString.lowercased())
        let message = try await mappingErrors(isWrite: true) {
            try await ConversationsClient(authorized(conversations, account)).send(draft, to: reply.thread)
        }
        return PublishedPost(id: RoostItems.id(of: message))
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        try await self.reply(reply, as: account)
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        _ = try await mappingErrors(isWrite: true) { try await PhotosClient(authorized(photos, account)).like(id) }
        return PublishedPost(id: id)
    }

    // MARK: -

    private var delegatedPosts: DelegatedPostsClient { DelegatedPostsClient(photos) }

    private func authorized(_ service: ServiceClient, _ account: NetworkAccount) throws -> ServiceClient {
        guard !account.tokens.access.isEmpty else {
            throw NetworkError(.auth, "the request needs the user's credential", code: "authentication_required")
        }
        return service.authorized(as: account.tokens.access)
    }

    /// Converts the services' errors to those of networks.
    private func mappingErrors<Value>(isWrite: Bool = false, _ call: () async throws -> Value) async throws -> Value {
        do {
            return try await call()
        } catch let error as APIError {
            let kind: NetworkError.Class =
                switch error.kind {
                case .unauthenticated: .auth
                case .forbidden: .permission
                case .notFound, .gone: .notFound
                case .rateLimited: .rateLimited(until: nil)
                // The response does not say whether the write had its effect.
                case .timedOut, .internal, .badGateway, .unavailable, .gatewayTimeout, .insufficientStorage:
                    isWrite ? .unknownOutcome : .transient
                default: .invalid
                }
            throw NetworkError(kind, error.message, code: error.code)
        }
    }
}
