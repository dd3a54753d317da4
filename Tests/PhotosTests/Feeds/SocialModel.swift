/// A plain model of users and their actions, with which the service has to agree.
struct SocialModel {
    struct Post {
        let author: Int
        /// The position in the order of creation.
        let index: Int
        var text: String
        var isHidden = false
        var likers: Set<Int> = []
        /// The comments in the order of creation.
        var comments: [(writer: Int, text: String)] = []
    }

    struct Pair: Hashable {
        let from: Int
        let to: Int
    }

    let people: Int
    /// The posts by id.
    var posts: [String: Post] = [:]
    var follows: Set<Pair> = []
    var blocks: Set<Pair> = []
    private var made = 0

    init(people: Int) { self.people = people }

    mutating func add(_ id: String, by author: Int, _ text: String) {
        made += 1
        posts[id] = Post(author: author, index: made, text: text)
    }

    mutating func block(_ from: Int, _ to: Int) {
        blocks.insert(Pair(from: from, to: to))
        follows.remove(Pair(from: from, to: to))
        follows.remove(Pair(from: to, to: from))
    }

    func isBlocked(_ one: Int, _ other: Int) -> Bool {
        blocks.contains(Pair(from: one, to: other)) || blocks.contains(Pair(from: other, to: one))
    }

    /// Returns the home feed, newest first.
    func home(of reader: Int) -> [String] {
        shown { post in
            !post.isHidden && !isBlocked(reader, post.author)
                && (post.author == reader || follows.contains(Pair(from: reader, to: post.author)))
        }
    }

    func general(for reader: Int) -> [String] { shown { !$0.isHidden && !isBlocked(reader, $0.author) } }

    func posts(of author: Int, for reader: Int) -> [String] {
        shown { $0.author == author && (!$0.isHidden || author == reader) }
    }

    /// Whether a user sees a post by its id.
    func isVisible(_ id: String, to reader: Int) -> Bool {
        posts[id].map { $0.author == reader || !$0.isHidden && !isBlocked(reader, $0.author) } ?? false
    }

    func followers(of person: Int, for reader: Int) -> Set<Int> {
        Set(follows.filter { $0.to == person && !isBlocked(reader, $0.from) }.map(\.from))
    }

    func following(of person: Int, for reader: Int) -> Set<Int> {
        Set(follows.filter { $0.from == person && !isBlocked(reader, $0.to) }.map(\.to))
    }

    /// Returns the comments, newest first, without those of users with a block in between.
    func comments(on id: String, for reader: Int) -> [String] {
        (posts[id]?.comments ?? []).filter { !isBlocked(reader, $0.writer) }.map(\.text).reversed()
    }

    private func shown(_ isShown: (Post) -> Bool) -> [String] {
        posts.filter { isShown($0.value) }.sorted { $0.value.index > $1.value.index }.map(\.key)
    }
}
