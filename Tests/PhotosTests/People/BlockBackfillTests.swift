import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import PhotosAPI
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

/// Blocks that were created before photos received events about blocks.
@Suite("Import of existing blocks") struct BlockBackfillTests {
    @Test("Existing blocks are imported once, also for users who come later")
    func existingBlocks() async throws {
        try await withBlockList { fixture, list in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            try await fixture.ann.photos.follow("bob")
            try await fixture.post(by: fixture.bob)
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "ann", "eve": "not yet seen", "zoe": "eve"]) }
            list.change { $0.isReleased = true }
            try await fixture.waitForBackfill()

            #expect(try await fixture.ann.ask(.get, "/photos/people/bob").status == 404)
            #expect(try await fixture.ann.home().isEmpty)
            #expect(try await fixture.eve.photos.profile(of: "bob").followerCount == 0)
            #expect(try await fixture.followInconsistencies() == [])
            // A user who comes later is blocked from the start.
            let zoe = try await fixture.testUser("zoe")
            _ = try await zoe.photos.me()
            #expect(try await zoe.ask(.get, "/photos/people/eve").status == 404)
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM blocks") == ["4"])
            // The import leaves no data and does not request the list again.
            #expect(try await fixture.rows("SELECT user_id || blocked_id AS row FROM block_backfill") == [""])
            #expect(list.value.requestCount == 3, "two blocks, two blocks, and an empty page")
        }
    }

    @Test("Events that arrive during the import take precedence over the list")
    func concurrentEvents() async throws {
        try await withBlockList { fixture, list in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            // The events arrive while the older list is in flight.
            try await eventually { list.value.requestCount == 1 }
            try await fixture.deliver(Self.unblocked("ann", "bob"), by: "conversations")
            try await fixture.deliver(UserDeleted(applicationId: PhotosFixture.application, userId: "eve"), by: "auth")
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "eve", "eve": "ann", "zoe": "ann"]) }
            list.change { $0.isReleased = true }
            try await fixture.waitForBackfill()

            #expect(try await fixture.ann.photos.profile(of: "bob").userId == "bob")
            #expect(try await fixture.rows("SELECT user_id AS row FROM people WHERE user_id = 'eve'") == [])
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM blocks") == ["1"])
            #expect(try await fixture.rows("SELECT user_id AS row FROM block_backfill_events") == [])
            // After the import, events are not recorded.
            try await fixture.deliver(Self.unblocked("zoe", "ann"), by: "conversations")
            #expect(try await fixture.rows("SELECT user_id AS row FROM block_backfill_events") == [])
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM blocks") == ["0"])
        }
    }

    @Test("A block that PostgreSQL rejects delays no other block")
    func poison() async throws {
        try await withBlockList { fixture, list in
            try await fixture.createProfiles(fixture.ann, fixture.bob, fixture.eve)
            try await fixture.service.database.pool.run(
                "ALTER TABLE people ADD CONSTRAINT poison CHECK (user_id <> 'future')"
            )
            // The import's position cannot be set to the block of this user.
            try await fixture.service.database.pool.run(
                "ALTER TABLE block_backfill ADD CONSTRAINT poison CHECK (user_id <> 'eve')"
            )
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "future", "eve": "ann", "zoe": "eve"]) }
            list.change { $0.isReleased = true }
            try await fixture.waitForBackfill()

            #expect(try await fixture.ann.ask(.get, "/photos/people/bob").status == 404)
            #expect(try await fixture.rows("SELECT count(*)::text AS row FROM blocks") == ["2"])
            #expect(try await fixture.rows("SELECT user_id AS row FROM people WHERE user_id = 'future'") == [])
        }
    }

    private static func unblocked(_ user: String, _ blocked: String) -> UserUnblocked {
        UserUnblocked(applicationId: PhotosFixture.application, userId: user, blockedId: blocked)
    }

    private static func blocks(_ pairs: KeyValuePairs<String, String>) -> [ListedBlock] {
        pairs.map { ListedBlock(applicationId: PhotosFixture.application, userId: $0, blockedId: $1) }
    }

    private func withBlockList(_ body: (PhotosFixture, SharedValue<BlockList>) async throws -> Void) async throws {
        let list = SharedValue(BlockList())
        let client = ServiceClient(callee: "conversations", transport: BlockListTransport(list: list), retry: .never)
        try await withPhotos(
            settings: ["CONVERSATIONS_URL": "http://conversations.test"],
            peers: ["conversations": client]
        ) { fixture in try await body(fixture, list) }
    }
}

/// The list of blocks in the responses of conversations.
private struct BlockList: Sendable {
    /// The blocks in the order of the list.
    var blocks: [ListedBlock] = []
    /// Whether requests get a response; until then they wait.
    var isReleased = false
    var requestCount = 0
}

private struct BlockListTransport: Transport {
    let list: SharedValue<BlockList>

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        list.change { $0.requestCount += 1 }
        try await eventually(within: .seconds(60), "open") { list.value.isReleased }
        let last = request.path.split(separator: "userId=").dropFirst().first?.prefix { $0 != "&" } ?? ""
        let rest = list.value.blocks.drop { $0.userId <= last }
        return ServiceResponse(
            status: 200,
            headers: [.contentType: "application/json"],
            body: try WireJSON.encoder().encode(ListedBlocks(blocks: Array(rest.prefix(2))))
        )
    }
}

extension PhotosFixture {
    fileprivate func waitForBackfill() async throws {
        try await eventually {
            try await rows("SELECT 'yes' AS row FROM block_backfill WHERE ended_at IS NOT NULL") != []
        }
    }
}
