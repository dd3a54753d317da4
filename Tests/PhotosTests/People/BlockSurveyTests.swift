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

/// Blocks that were made before photos heard of any.
@Suite struct BlockSurveyTests {
    @Test func whoWasBlockedBeforeIsKeptApart() async throws {
        try await withList { scene, list in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            try await scene.ann.photos.follow("bob")
            try await scene.post(by: scene.bob)
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "ann", "eve": "nobody yet", "zoe": "eve"]) }
            list.change { $0.isOpen = true }
            try await scene.surveyed()

            #expect(try await scene.ann.ask(.get, "/photos/people/bob").status == 404)
            #expect(try await scene.ann.home().isEmpty)
            #expect(try await scene.eve.photos.profile(of: "bob").followerCount == 0)
            #expect(try await scene.misfollowed() == [])
            // Who comes only now is blocked already.
            let zoe = try await scene.player("zoe")
            _ = try await zoe.photos.me()
            #expect(try await zoe.ask(.get, "/photos/people/eve").status == 404)
            #expect(try await scene.rows("SELECT count(*)::text AS row FROM blocks") == ["4"])
            // Nothing of it stays, and it is not asked for again.
            #expect(try await scene.rows("SELECT user_id || blocked_id AS row FROM block_survey") == [""])
            #expect(list.value.asked == 3, "two, two, and none")
        }
    }

    @Test func whatIsHeardMeanwhileIsNewer() async throws {
        try await withList { scene, list in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            // While the list is on its way as it was a moment ago.
            try await eventually { list.value.asked == 1 }
            try await scene.tell(Self.unblocked("ann", "bob"), by: "conversations")
            try await scene.tell(UserDeleted(applicationId: Scene.application, userId: "eve"), by: "auth")
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "eve", "eve": "ann", "zoe": "ann"]) }
            list.change { $0.isOpen = true }
            try await scene.surveyed()

            #expect(try await scene.ann.photos.profile(of: "bob").userId == "bob")
            #expect(try await scene.rows("SELECT user_id AS row FROM people WHERE user_id = 'eve'") == [])
            #expect(try await scene.rows("SELECT count(*)::text AS row FROM blocks") == ["1"])
            #expect(try await scene.rows("SELECT user_id AS row FROM block_news") == [])
            // From then on nothing is noted.
            try await scene.tell(Self.unblocked("zoe", "ann"), by: "conversations")
            #expect(try await scene.rows("SELECT user_id AS row FROM block_news") == [])
            #expect(try await scene.rows("SELECT count(*)::text AS row FROM blocks") == ["0"])
        }
    }

    @Test("A block that PostgreSQL refuses delays no other block")
    func poison() async throws {
        try await withList { scene, list in
            try await scene.introduce(scene.ann, scene.bob, scene.eve)
            try await scene.service.database.pool.run(
                "ALTER TABLE people ADD CONSTRAINT poison CHECK (user_id <> 'future')"
            )
            // The position cannot be moved to the block of this user.
            try await scene.service.database.pool.run(
                "ALTER TABLE block_survey ADD CONSTRAINT poison CHECK (user_id <> 'eve')"
            )
            list.change { $0.blocks = Self.blocks(["ann": "bob", "bob": "future", "eve": "ann", "zoe": "eve"]) }
            list.change { $0.isOpen = true }
            try await scene.surveyed()

            #expect(try await scene.ann.ask(.get, "/photos/people/bob").status == 404)
            #expect(try await scene.rows("SELECT count(*)::text AS row FROM blocks") == ["2"])
            #expect(try await scene.rows("SELECT user_id AS row FROM people WHERE user_id = 'future'") == [])
        }
    }

    private static func unblocked(_ user: String, _ blocked: String) -> UserUnblocked {
        UserUnblocked(applicationId: Scene.application, userId: user, blockedId: blocked)
    }

    private static func blocks(_ pairs: KeyValuePairs<String, String>) -> [ListedBlock] {
        pairs.map { ListedBlock(applicationId: Scene.application, userId: $0, blockedId: $1) }
    }

    private func withList(_ body: (Scene, Shared<BlockList>) async throws -> Void) async throws {
        let list = Shared(BlockList())
        let client = ServiceClient(callee: "conversations", transport: BlockListTransport(list: list), retry: .never)
        try await withPhotos(
            settings: ["CONVERSATIONS_URL": "http://conversations.test"],
            neighbours: ["conversations": client]
        ) { scene in try await body(scene, list) }
    }
}

/// The suite's list of blocks, as conversations tells it.
private struct BlockList: Sendable {
    /// In its order.
    var blocks: [ListedBlock] = []
    /// Nobody answers before.
    var isOpen = false
    var asked = 0
}

private struct BlockListTransport: Transport {
    let list: Shared<BlockList>

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        list.change { $0.asked += 1 }
        try await eventually(within: .seconds(60), "open") { list.value.isOpen }
        let last = request.path.split(separator: "userId=").dropFirst().first?.prefix { $0 != "&" } ?? ""
        let rest = list.value.blocks.drop { $0.userId <= last }
        return ServiceResponse(
            status: 200,
            headers: [.contentType: "application/json"],
            body: try WireJSON.encoder().encode(ListedBlocks(blocks: Array(rest.prefix(2))))
        )
    }
}

extension Scene {
    fileprivate func surveyed() async throws {
        try await eventually {
            try await rows("SELECT 'yes' AS row FROM block_survey WHERE ended_at IS NOT NULL") != []
        }
    }
}
