import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// The response to a request for media by a network.
private struct Fetched: Sendable {
    var url: String
    var status: Int
    var type: String?
    var bytes: Int
}

@Suite("Media that networks fetch") struct PostMediaTests {
    private let fetched = Shared<[Fetched]>([])

    /// Makes a network fetch photos from the service, without a credential.
    private func fetch(_ network: Network, in fixture: SocialFixture) {
        let (service, fetched) = (fixture.service, fetched)
        fixture.networks[network].behavior.change { behavior in
            behavior.fetch = { url in
                let path = url.replacing("http://127.0.0.1:8080", with: "")
                let answer = try await service.send(.get, path)
                fetched.change {
                    $0.append(
                        Fetched(
                            url: url,
                            status: answer.status,
                            type: answer.headers[.contentType],
                            bytes: answer.body.count
                        )
                    )
                }
            }
        }
    }

    @Test("A photo of a form is fetched from a public URL, which expires when the post is done")
    func form() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            fetch(.facebook, in: fixture)
            let form = Form(data: #"{"text": "a picture"}"#, photo: SocialFixture.picture)

            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            let found = try #require(fetched.value.first)
            #expect(answer.json["data"]["results"]["facebook"]["parts"]["photo"].int == 200, "\(answer.text)")
            #expect(found.url.hasPrefix("http://127.0.0.1:8080/feed/media/"))
            #expect(found.status == 200)
            #expect(found.type == "image/jpeg")
            #expect(found.bytes == SocialFixture.picture.count)
            let path = found.url.replacing("http://127.0.0.1:8080", with: "")
            #expect(try await fixture.service.send(.get, path).status == 404)
            #expect(try await fixture.rows("SELECT element AS row FROM post_media").isEmpty)
        }
    }

    @Test("A photo of a scheduled post is fetched when the post is due")
    func scheduled() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            fetch(.facebook, in: fixture)

            _ = try await fixture.schedulePicture(after: 60)
            fixture.clock.advance(by: 61)

            try await eventually(within: .seconds(20), "posted") {
                !fixture.networks[.facebook].seen.value.isEmpty
            }
            #expect(fetched.value.map(\.status) == [200])
            #expect(fetched.value.map(\.bytes) == [SocialFixture.picture.count])
        }
    }

    @Test("A URL serves byte ranges for an hour while the post is not done, and a forged URL responds 404")
    func expiry() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            fetch(.facebook, in: fixture)
            let busy = NetworkError(.transient, "busy")
            fixture.networks[.facebook].behavior.change { $0.publishing = .rejects(busy) }
            let form = Form(data: #"{"text": "a picture"}"#, photo: SocialFixture.picture)
            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)
            let path = try #require(fetched.value.first).url.replacing("http://127.0.0.1:8080", with: "")

            let part = try await fixture.service.send(.get, path, headers: [.range: "bytes=0-3"])
            let forged = try await fixture.service.send(
                .get,
                String(path.dropLast()) + (path.hasSuffix("A") ? "B" : "A")
            )
            fixture.clock.advance(by: 3_601)
            let expired = try await fixture.service.send(.get, path)

            #expect(answer.json["data"]["results"]["facebook"]["code"].int == 503)
            #expect(part.status == 206)
            #expect(Array(part.body) == Array(SocialFixture.picture.prefix(4)))
            #expect(forged.status == 404)
            #expect(expired.status == 404)
            #expect(expired.problem?.code == "media_not_found")
        }
    }

    @Test("Files are stored only for networks that fetch media")
    func bytesAreSent() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let form = Form(data: #"{"text": "a picture"}"#, photo: SocialFixture.picture)

            let answer = try await fixture.ann.ask(.post, "/feed", form.body, headers: form.headers)

            #expect(answer.json["data"]["results"]["twitter"]["code"].int == 200)
            #expect(fetched.value.isEmpty)
            #expect(try await fixture.rows("SELECT element AS row FROM post_media").isEmpty)
        }
    }
}
