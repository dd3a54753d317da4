import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// A random history that is applied to the service and to the model.
struct RandomHistory {
    let fixture: PhotosFixture
    /// A client per user and instance.
    let testUsers: [[TestUser]]
    let moderator: PhotosClient
    var model: SocialModel
    var random: SeededGenerator
    private var texts = 0

    init(_ fixture: PhotosFixture, testUsers: [[TestUser]], seed: UInt64) throws {
        self.fixture = fixture
        self.testUsers = testUsers
        moderator = try fixture.moderator()
        model = SocialModel(people: testUsers.count)
        random = SeededGenerator(seed: seed)
    }

    /// Returns a client of a user at a random instance.
    mutating func testUser(_ person: Int) -> TestUser {
        testUsers[person].randomElement(using: &random) ?? testUsers[person][0]
    }

    /// Performs a random action and returns its description.
    mutating func step() async throws -> String {
        let (one, other) = pair()
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: return try await follow(one, other)
        case 22..<32: return try await unfollow(one, other)
        case 32..<36: return try await block(one, other)
        case 36..<44: return try await unblock()
        case 44..<66: return try await post(one)
        case 66..<71: return try await update()
        case 71..<77: return try await delete()
        case 77..<82: return try await hideOrRestore()
        case 82..<91: return try await likeOrUnlike(one)
        default: return try await comment(one)
        }
    }

    private mutating func pair() -> (Int, Int) {
        let one = Int.random(in: 0..<model.people, using: &random)
        let other = Int.random(in: 0..<model.people - 1, using: &random)
        return (one, other < one ? other : other + 1)
    }

    /// Returns a random post, preferring recent ones; ids are sorted because the order of a dictionary is not seeded.
    private mutating func somePost() -> String? {
        let ids = model.posts.sorted { $0.value.index < $1.value.index }.map(\.key)
        return ids.suffix(Bool.random(using: &random) ? 10 : ids.count).randomElement(using: &random)
    }

    private mutating func text() -> String {
        texts += 1
        return "text \(texts)"
    }

    private mutating func follow(_ one: Int, _ other: Int) async throws -> String {
        let status = try await testUser(one).ask(.put, "/photos/people/p\(other)/follow").status
        #expect(status == (model.isBlocked(one, other) ? 404 : 200))
        if status == 200 { model.follows.insert(.init(from: one, to: other)) }
        return "\(one) follows \(other)"
    }

    private mutating func unfollow(_ one: Int, _ other: Int) async throws -> String {
        let followed = model.follows.filter { $0.from == one }.map(\.to).sorted().randomElement(using: &random)
        let other = followed ?? other
        let status = try await testUser(one).ask(.delete, "/photos/people/p\(other)/follow").status
        #expect(status == (model.isBlocked(one, other) ? 404 : 200))
        model.follows.remove(.init(from: one, to: other))
        return "\(one) unfollows \(other)"
    }

    private mutating func block(_ one: Int, _ other: Int) async throws -> String {
        try await fixture.set(blocked: true, testUser(other), by: testUser(one))
        model.block(one, other)
        return "\(one) blocks \(other)"
    }

    private mutating func unblock() async throws -> String {
        let blocks = model.blocks.sorted { ($0.from, $0.to) < ($1.from, $1.to) }
        guard let block = blocks.randomElement(using: &random) else { return "no user is blocked" }
        try await fixture.set(blocked: false, testUser(block.to), by: testUser(block.from))
        model.blocks.remove(block)
        return "\(block.from) unblocks \(block.to)"
    }

    private mutating func post(_ one: Int) async throws -> String {
        let text = text()
        let made = try await fixture.post(text, by: testUser(one))
        model.add(made.postId, by: one, text)
        return "\(one) posts \(made.postId)"
    }

    private mutating func update() async throws -> String {
        guard let id = somePost(), let post = model.posts[id] else { return "nothing to edit" }
        let text = text()
        _ = try await testUser(post.author).photos.update(id, PostChanges(text: text))
        model.posts[id]?.text = text
        return "\(post.author) edits \(id)"
    }

    private mutating func delete() async throws -> String {
        guard let id = somePost(), let post = model.posts[id] else { return "nothing to delete" }
        try await testUser(post.author).photos.delete(id)
        model.posts[id] = nil
        return "\(post.author) deletes \(id)"
    }

    private mutating func hideOrRestore() async throws -> String {
        guard let id = somePost(), let post = model.posts[id] else { return "nothing to hide" }
        if post.isHidden { try await moderator.restore(id) } else { try await moderator.hide(id) }
        model.posts[id]?.isHidden.toggle()
        return "\(id) is \(post.isHidden ? "shown again" : "hidden")"
    }

    private mutating func likeOrUnlike(_ one: Int) async throws -> String {
        guard let id = somePost(), let post = model.posts[id] else { return "nothing to like" }
        let likes = post.likers.contains(one)
        let status = try await testUser(one).ask(likes ? .delete : .put, "/photos/posts/\(id)/like").status
        #expect(status == (model.isVisible(id, to: one) ? 200 : 404))
        if status == 200 { model.posts[id]?.likers.formSymmetricDifference([one]) }
        return "\(one) \(likes ? "un" : "")likes \(id)"
    }

    private mutating func comment(_ one: Int) async throws -> String {
        guard let id = somePost() else { return "nothing to comment on" }
        let text = text()
        let response = try await testUser(one).ask(.post, "/photos/posts/\(id)/comments", #"{"text": "\#(text)"}"#)
        #expect(response.status == (model.isVisible(id, to: one) ? 200 : 404))
        if response.status == 200 { model.posts[id]?.comments.append((one, text)) }
        return "\(one) comments on \(id)"
    }
}

extension RandomHistory {
    /// Returns the differences between the service and the model in what one user sees of the others.
    mutating func differences(for reader: Int, of others: [Int]) async throws -> [String] {
        let (testUser, limit) = (testUser(reader), [7, 30, 100, 100, 100, 100].randomElement(using: &random) ?? 100)
        var differences: [String] = []
        func compare<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) {
            if found != expected { differences.append("\(what) for \(reader): \(found) and not \(expected)") }
        }
        let home = try await testUser.home(limit: limit)
        compare("home", home.map(\.postId), model.home(of: reader))
        for post in home {
            guard let expected = model.posts[post.postId] else { continue }
            compare("text of \(post.postId)", post.text, expected.text)
            compare("likes of \(post.postId)", post.likeCount, expected.likers.count)
            compare("own like of \(post.postId)", post.isLiked, expected.likers.contains(reader))
            compare("comments of \(post.postId)", post.commentCount, expected.comments.count)
            let comments = Array(model.comments(on: post.postId, for: reader).prefix(3))
            compare("latest comments of \(post.postId)", post.recentComments.map(\.text), comments)
        }
        for other in others where !model.isBlocked(reader, other) {
            let profile = try await testUser.photos.profile(of: "p\(other)")
            compare("posts counted of \(other)", Int(profile.postCount), model.posts.count { $0.value.author == other })
            compare("followers counted of \(other)", Int(profile.followerCount), model.follows.count { $0.to == other })
            compare("followed by \(other)", Int(profile.followingCount), model.follows.count { $0.from == other })
            let follows = model.follows.contains(.init(from: reader, to: other))
            let followsBack = model.follows.contains(.init(from: other, to: reader))
            compare("following \(other)", [profile.isFollowing, profile.isFollowedBy], [follows, followsBack])
            let followers = try await testUser.all(limit: limit) {
                try await $0.followers(of: "p\(other)", limit: $1, cursor: $2)
            }
            let expected = model.followers(of: other, for: reader).map { "p\($0)" }.sorted()
            compare("followers of \(other)", followers.map(\.userId).sorted(), expected)
            let following = try await testUser.all(limit: limit) {
                try await $0.following(of: "p\(other)", limit: $1, cursor: $2)
            }
            let expectedFollowing = model.following(of: other, for: reader).map { "p\($0)" }.sorted()
            compare("those followed by \(other)", following.map(\.userId).sorted(), expectedFollowing)
            let posts = try await testUser.all(limit: limit) {
                try await $0.posts(of: "p\(other)", limit: $1, cursor: $2)
            }
            compare("posts of \(other)", posts.map(\.postId), model.posts(of: other, for: reader))
        }
        return differences
    }
}
