import Foundation
import SocialAPI
import Testing
import Wire

@Suite("Items") struct ItemTests {
    @Test("Missing values of an item are null, and `raw` is left out")
    func nulls() throws {
        let id = ItemID(.bluesky, "at://did:plc:me/app.bsky.feed.post/3k")
        let item = Item(id: id, kind: .post, createdAt: .distantPast)

        let json = try WireJSON.decoder().decode(JSONValue.self, from: WireJSON.encoder().encode(item))

        guard case .object(let fields) = json else {
            Issue.record("not an object")
            return
        }
        #expect(fields["id"] == .string("bluesky:at://did:plc:me/app.bsky.feed.post/3k"))
        #expect(fields["network"] == .string("bluesky"))
        #expect(fields["author"] == .null)
        #expect(fields["location"] == .null)
        #expect(fields["liked"] == .null)
        #expect(fields["raw"] == nil)
    }

    @Test("`vimeo` in an id means Vine, and an unknown network is rejected")
    func vimeo() {
        #expect(ItemID("vimeo:7") == ItemID(.vine, "7"))
        #expect(ItemID("vine:") == nil)
        #expect(ItemID("orkut:7") == nil)
        #expect(ItemID("vine") == nil)
    }
}
