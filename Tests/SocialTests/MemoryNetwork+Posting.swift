import Foundation
import NIOCore
import SocialAPI

@testable import SocialServer

extension MemoryNetwork {
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try await simulate("prepare", account)
        if let fetch = behavior.value.fetch, let photo = post.photos.first {
            guard let url = photo.url else { throw NetworkError(.invalid, "the photo has no address") }
            try await fetch(url)
        }
        return post.photos.isEmpty ? nil : try NetworkCursor(["media"])
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try await simulate("publish", account)
        let photo = post.photos.first.map { "\($0.type) \($0.bytes.readableBytes)" }
        return try store(
            VisiblePost(
                key: post.key,
                text: post.text,
                photo: photo,
                location: post.location,
                by: account.tokens.access
            )
        )
    }

    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        try await simulate("find", account)
        return seen.value.first { $0.key == post.key }.map { PublishedPost(id: "of \($0.text)") }
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try await simulate("reply", account)
        return try store(VisiblePost(key: reply.key, text: reply.text, thread: reply.thread, by: account.tokens.access))
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        try await simulate("find", account)
        return seen.value.first { $0.key == reply.key }.map { PublishedPost(id: "of \($0.text)") }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        try await simulate("like \(id)", account)
        return PublishedPost(id: id)
    }

    private func store(_ what: VisiblePost) throws -> PublishedPost {
        let isKnown = behavior.value.isIdempotent && seen.value.contains { $0.key == what.key }
        switch behavior.value.publishing {
        case .accepts, .acceptsWithoutResponse: if !isKnown { seen.change { $0.append(what) } }
        case .losesWithoutResponse: lost.change { $0.append(what.key) }
        case .rejects(let error): throw error
        }
        if case .accepts = behavior.value.publishing {
            return PublishedPost(id: "of \(what.text)", url: "https://there.example")
        }
        throw NetworkHTTPFailure.noAnswer("cut off")
    }
}
