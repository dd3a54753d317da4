import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import SocialAPI
import Synchronization
import Testing
import Wire

@testable import SocialServer

/// The suite's own services as a network.
@Suite("Roost as a network") struct RoostConnectorTests {
    private let photos = RecordedService()
    private let conversations = RecordedService()
    private let ann = NetworkAccount.ann(id: "ann", NetworkTokens(access: "own-jwt"))

    private var roost: RoostConnector {
        RoostConnector(
            photos: ServiceClient(callee: "photos", transport: photos),
            conversations: ServiceClient(callee: "conversations", transport: conversations)
        )
    }

    private let post = Post(
        postId: "p1",
        author: Author(userId: "bo", fullName: "Bo"),
        text: "look",
        images: [PostImage(url: "/media/a", thumbnailUrl: "/media/b", width: 4, height: 3, blurhash: "x", alt: "cat")],
        timestamp: testNow,
        likeCount: 2,
        isLiked: true,
        commentCount: 1
    )

    @Test("The home feed of photos is read with the user's credential")
    func homeFeed() async throws {
        photos.answer("GET /photos/home", Page([post], next: "c1"))
        photos.answer("GET /photos/home", Page<Post>([]))

        let first = try await roost.feed(PageRequest(limit: 5, includesRaw: true), as: ann)
        let second = try await roost.feed(PageRequest(cursor: first.next), as: ann)

        let item = first.items[0].item
        #expect(item.id == ItemID(.roost, "p1"))
        #expect(item.author?.name == "Bo")
        #expect(item.liked == true)
        #expect(
            item.media == [
                ItemMedia(kind: .photo, url: "/media/a", thumbnailUrl: "/media/b", width: 4, height: 3, alt: "cat")
            ]
        )
        #expect(item.raw?["images"] != nil)
        #expect(photos.asked.map(\.path) == ["/photos/home?limit=5", "/photos/home?limit=20&cursor=c1"])
        #expect(second.next == nil)
        #expect(photos.asked.allSatisfy { $0.headers[.authorization] == "Bearer own-jwt" })
    }

    @Test("Without a credential nothing is requested")
    func withoutCredential() async {
        let absent = NetworkAccount.ann(id: "ann", NetworkTokens(access: ""))

        #expect(await failure { try await roost.feed(PageRequest(), as: absent) }?.kind == .auth)
        #expect(photos.asked.isEmpty)
    }

    @Test("Conversations and their messages are read as threads")
    func threads() async throws {
        let newestMessage = message(2, "hi", by: "bo")
        var file = message(1, "https://m/1.jpg", by: "ann")
        (file.encoding, file.mime) = ("url", "image/jpeg")
        let conversation = Conversation(
            id: Conversation.ID(7),
            token: "tok",
            label: "us",
            type: .direct,
            members: ["ann", "bo"],
            admins: [],
            whiteList: nil,
            joinByToken: false,
            meta: nil,
            pushEnabled: true,
            unreadCount: 1,
            lastMessage: newestMessage,
            isBlockedByMe: false
        )
        conversations.answer("GET /conversations", Page([conversation]))
        conversations.answer("GET /conversations/tok/messages", Page([newestMessage, file]))

        let threads = try await roost.threads(PageRequest(), as: ann).items.map(\.item)
        let messages = try await roost.messages(of: "tok", PageRequest(limit: 2), as: ann)

        #expect(threads[0].thread == "tok")
        #expect(threads[0].text == "hi")
        #expect(threads[0].unread == 1)
        #expect(threads[0].participants?.map(\.id) == ["bo"])
        #expect(messages.items.map(\.item.text) == ["hi", ""])
        #expect(messages.next == nil)
        #expect(messages.items[1].item.media.map(\.kind) == [.photo])
    }

    @Test("A post is created through the internal API, and found after an unknown outcome")
    func publishAndFind() async throws {
        let upload = Upload(uploadId: "u1", url: "/a", thumbnailUrl: "/b", width: 1, height: 1, blurhash: "x")
        var uploaded = OutgoingMedia.photo
        uploaded.upload = "u0"
        let wanted = NetworkPost.saying("look", photos: [uploaded, .photo])
        let order = "/internal/posts/\(wanted.key.uuidString.lowercased())"
        photos.answer("POST /internal/uploads", upload)
        photos.answer("POST /internal/posts", status: 503, ["code": "unavailable"])
        photos.answer("GET \(order)", DelegatedPost(postId: "1-2"))
        photos.answer("GET \(order)", status: 404, Problem(APIError(.notFound, "x", "none"), requestID: nil))
        // In the background the user has no credential.
        let absent = NetworkAccount.ann(id: "ann", NetworkTokens(access: ""))

        let prepared = try await roost.prepare(wanted, as: absent)
        let unknown = await failure(isWrite: true) { try await roost.publish(wanted, prepared: prepared, as: absent) }
        let found = try await roost.find(wanted, prepared: prepared, as: absent)
        let missing = try await roost.find(wanted, prepared: prepared, as: absent)

        #expect(unknown?.kind == .unknownOutcome)
        #expect(found?.id == "1-2")
        #expect(missing == nil)
        let sent = try #require(photos.asked.first { $0.path == "/internal/posts" }?.body)
        let ordered = try WireJSON.decoder().decode(DelegatedPostRequest.self, from: sent)
        #expect(ordered.user == absent.owner)
        #expect(ordered.key == wanted.key)
        #expect(ordered.post.text == "look")
        #expect(ordered.post.images?.map(\.uploadId) == ["u0", "u1"])
        #expect(ordered.post.images?.first?.alt == "a cat")
        let query = "application=\(absent.owner.application)&userId=\(absent.owner.user)"
        #expect(photos.asked.map(\.path).contains("/internal/uploads?\(query)"))
        #expect(photos.asked.last?.path == "\(order)?\(query)")
    }

    @Test("A post with text only is created without images")
    func textAlone() async throws {
        photos.answer("POST /internal/posts", DelegatedPost(postId: "1-2"))
        let wanted = NetworkPost.saying("only words")

        let prepared = try await roost.prepare(wanted, as: ann)
        let posted = try await roost.publish(wanted, prepared: prepared, as: ann)

        let sent = try #require(photos.asked.first { $0.path == "/internal/posts" }?.body)
        let ordered = try WireJSON.decoder().decode(DelegatedPostRequest.self, from: sent)
        #expect(posted.id == "1-2")
        #expect(ordered.post.text == "only words")
        #expect(ordered.post.images?.isEmpty == true)
        #expect(PostContent(text: "only words").accepted(by: roost.accountCapabilities(of: ann)) == [.text])
    }

    @Test("A reply has its idempotency key, and a like is sent")
    func replyAndLike() async throws {
        conversations.answer("POST /conversations/tok/messages", message(3, "ok", by: "ann"))
        photos.answer("PUT /photos/posts/p1/like", LikeState(isLiked: true, likeCount: 3))
        let reply = NetworkReply.saying("ok", in: "tok")

        let posted = try await roost.reply(reply, as: ann)

        #expect(posted.id?.hasPrefix("message/") == true)
        let sent = try #require(conversations.asked.last?.body)
        #expect(
            try WireJSON.decoder().decode(MessageDraft.self, from: sent).clientMessageId
                == reply.key.uuidString.lowercased()
        )
        #expect(try await roost.like("p1", as: ann).id == "p1")
    }

    private func message(_ seq: Int64, _ data: String, by user: String) -> Message {
        Message(
            chatId: Conversation.ID(7),
            seq: seq,
            change: seq,
            data: data,
            mime: "text/plain",
            encoding: "utf8",
            meta: nil,
            createdAt: testNow,
            senderUser: Message.Sender(id: 1, serial: user),
            reads: [],
            clientMessageId: nil
        )
    }
}

/// A service that responds with given responses, each once and in order.
private final class RecordedService: Transport {
    private struct State {
        var answers: [String: [ServiceResponse]] = [:]
        var asked: [ServiceRequest] = []
    }

    private let state = Mutex(State())

    var asked: [ServiceRequest] { state.withLock(\.asked) }

    func answer(_ request: String, status: Int = 200, _ body: some Encodable) {
        let body = (try? WireJSON.encoder().encode(body)) ?? Data()
        let response = ServiceResponse(status: status, headers: [:], body: body)
        state.withLock { $0.answers[request, default: []].append(response) }
    }

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        let name = "\(request.method.rawValue) \(request.path.prefix { $0 != "?" })"
        let answer = state.withLock { state -> ServiceResponse? in
            state.asked.append(request)
            guard state.answers[name]?.isEmpty == false else { return nil }
            return state.answers[name]?.removeFirst()
        }
        return try #require(answer, "there is no response to \(name)")
    }
}
