import Foundation
import NIOCore
import SocialAPI

@testable import SocialServer

extension MemoryNetwork {
    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try await meet("prepare", account)
        if let fetch = mood.value.fetch, let photo = post.photos.first {
            guard let url = photo.url else { throw NetworkError(.invalid, "the photo has no address") }
            try await fetch(url)
        }
        return post.photos.isEmpty ? nil : try NetworkCursor(["media"])
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> Posted {
        try await meet("publish", account)
        let photo = post.photos.first.map { "\($0.type) \($0.bytes.readableBytes)" }
        return try take(
            Seen(
                key: post.key,
                text: post.text,
                photo: photo,
                location: post.location,
                by: account.tokens.access
            )
        )
    }

    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> Posted? {
        try await meet("find", account)
        return seen.value.first { $0.key == post.key }.map { Posted(id: "of \($0.text)") }
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> Posted {
        try await meet("reply", account)
        return try take(Seen(key: reply.key, text: reply.text, thread: reply.thread, by: account.tokens.access))
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> Posted? {
        try await meet("find", account)
        return seen.value.first { $0.key == reply.key }.map { Posted(id: "of \($0.text)") }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> Posted {
        try await meet("like \(id)", account)
        return Posted(id: id)
    }

    private func take(_ what: Seen) throws -> Posted {
        let isKnown = mood.value.repeatsSafely && seen.value.contains { $0.key == what.key }
        switch mood.value.publishing {
        case .takes, .takesInSilence: if !isKnown { seen.change { $0.append(what) } }
        case .losesInSilence: lost.change { $0.append(what.key) }
        case .refuses(let error): throw error
        }
        if case .takes = mood.value.publishing { return Posted(id: "of \(what.text)", url: "https://there.example") }
        throw NetworkHTTPFailure.noAnswer("cut off")
    }
}
