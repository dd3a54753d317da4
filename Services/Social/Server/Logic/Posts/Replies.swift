import Foundation
import SocialAPI
import Wire

/// Replies in message threads.
///
/// A reply does not start a thread, and each is sent once.
struct Replies: Sendable {
    /// The maximum length of a reply, in Unicode scalars.
    private static let maximumText = 20_000
    /// The maximum length of a thread's id, in bytes.
    private static let maximumThread = 1_024
    private static let timeout: Duration = .seconds(15)

    let sources: Sources
    let networkGateway: NetworkGateway
    let identities: Identities
    let publisher: Publisher
    let now: @Sendable () -> Date

    /// Sends a reply, or continues an earlier attempt with the same `Idempotency-Key`.
    func reply(_ reply: ReplyDraft, for caller: Caller, key: String?) async throws -> PostResponse {
        guard 1...Self.maximumText ~= reply.text.unicodeScalars.count else {
            throw APIError.invalid("data.text", "a reply must have 1 to \(Self.maximumText) characters")
        }
        let network = try FeedDraft.network(reply.network, "data.network")
        guard !reply.thread.isEmpty else { throw APIError.missing("data.thread") }
        guard reply.thread.utf8.count <= Self.maximumThread else {
            throw APIError.invalid(
                "data.thread",
                "the thread id is too long; at most \(Self.maximumThread) bytes are allowed"
            )
        }
        let source = try await sources.require(network, for: caller)
        try source.requireSupport(.reply)
        let at = now()
        let record = try await publisher.register(
            PostRecord(
                id: CrossPoster.id(of: key.map { "reply \($0)" }, caller.user),
                user: caller.user,
                draft: FeedDraft(text: reply.text, networks: [network.rawValue]),
                thread: ItemID(reply.thread).flatMap { $0.network == network ? $0.native : nil } ?? reply.thread,
                createdAt: at,
                dueAt: at,
                isScheduled: false
            )
        )
        // A separate task, so that a client that disconnects does not stop the request halfway.
        let result = try await Task { try await send(record, by: source) }.value
        return PostResponse(result, of: .reply, named: reply.network)
    }

    private func send(_ record: PostRecord, by source: Source) async throws -> PostResult {
        var source = source
        do {
            try await identities.complete(&source, networkGateway, within: networkGateway.deadline)
            let publishRequest = PublishRequest(record, on: source.network)
            return try await publisher.publish(publishRequest, record.id, by: source, within: Self.timeout)
        } catch let error as NetworkError {
            return Publisher.result(error)
        }
    }
}

extension PublishRequest {
    /// Creates a request from a stored post without its files, by which the post is looked up.
    init(_ record: PostRecord, on network: Network) {
        let (key, text) = (CrossPoster.key(record.id, network), record.draft.text ?? "")
        if let thread = record.thread {
            self = .reply(NetworkReply(key: key, createdAt: record.createdAt, thread: thread, text: text))
        } else {
            let content = PostContent(text: text)
            self = .post(content.post(of: content.elements, key: key, createdAt: record.createdAt))
        }
    }
}

/// A reply as the client sends it in `data`.
struct ReplyDraft: Codable, Hashable, Sendable {
    var network: String
    var thread: String
    var text: String

    /// - Throws: `invalid_field` or `missing_field`, naming a field below `data`.
    init(_ data: JSONValue) throws {
        do {
            self = try WireJSON.decode(ReplyDraft.self, from: data)
        } catch var error as APIError {
            error.field = error.field.map { "data.\($0)" } ?? "data"
            throw error
        }
    }
}
