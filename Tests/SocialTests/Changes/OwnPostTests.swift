import SandboxServer
import SocialAPI
import TestSupport
import Testing

@testable import SocialServer

@Suite("Own posts on networks", .timeLimit(.minutes(2))) struct OwnPostTests {
    private static let alerts = """
        SELECT is_alert::text AS row FROM changes WHERE list = 'feed' AND kind = 'created' ORDER BY number
        """

    @Test("A post of the user's own account does not alert the user", arguments: NetworkVariant.all)
    func ownPost(variant: NetworkVariant) async throws {
        try await withSandboxService(variant, isPolling: true) { fixture in
            _ = fixture.sandbox.networks.account("ana", on: variant.service, follows: ["bo"])
            try await fixture.link()
            try await fixture.settled(.feed)
            try await fixture.publish("by the user", by: "ana")
            try await fixture.poll(.feed)

            #expect(try await fixture.rows(Self.alerts) == ["false"])
            guard NetworkVariant.withHomeFeed.contains(variant) else { return }
            try await fixture.publish("by a followee", by: "bo")
            try await fixture.poll(.feed)
            #expect(try await fixture.rows(Self.alerts) == ["false", "true"])
        }
    }

    @Test("The person behind a linked Facebook page is the account's own author")
    func personOfPage() async throws {
        try await withSandboxService(.facebook) { fixture in
            try await fixture.link()
            let person = try #require(fixture.sandbox.networks.account("ana", on: .facebook)).id

            let names = try await AccountStore(db: fixture.service.database.pool)
                .names(of: fixture.ann.id, on: .facebook)

            #expect(names.id != person)
            #expect(names.contains(ItemAuthor(id: person, name: "Ana Albers")))
            #expect(!names.contains(ItemAuthor(id: "10002", name: "Ana Albers")))
        }
    }
}
