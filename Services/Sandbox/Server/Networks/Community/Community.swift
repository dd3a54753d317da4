import Foundation
import Locks

/// The people of one network and their posts, in memory.
///
/// The seed is the same at every start, and clients change it.
final class Community: Sendable {
    struct State {
        var people: [Person] = []
        var numbers: [String: Int] = [:]
        var posts: [Post] = []
        var indexByID: [Int64: Int] = [:]
        var messageThreads: [MessageThread] = []
        var notices: [Notice] = []
        var lastID: Int64 = 0
        var listeners: [Int: @Sendable (CommunityEvent) -> Void] = [:]
        var nextListener = 0
    }

    private static let postLimit = 200_000

    let state: Lock<State>
    let ids: IDGenerator
    let clock: SandboxClock

    init(seed: CommunitySeed, ids: IDGenerator, clock: SandboxClock) {
        self.ids = ids
        self.clock = clock
        state = Lock(seed.state(numbering: ids))
    }

    // MARK: People

    func person(_ number: Int) -> Person? {
        state.withLock { $0.people.indices.contains(number) ? $0.people[number] : nil }
    }

    func person(named name: String) -> Person? {
        state.withLock { state in state.numbers[name.lowercased()].map { state.people[$0] } }
    }

    func person(id: Int64) -> Person? {
        state.withLock { $0.people.first { $0.id == id } }
    }

    var people: [Person] { state.withLock { $0.people } }

    /// Returns the person with this name, and creates the person when they do not exist.
    func findOrCreate(_ name: String, follows: Set<Int>? = nil) -> Person {
        state.withLock { state in
            if let number = state.numbers[name.lowercased()] { return state.people[number] }
            let number = state.people.count
            let person = Person(
                number: number,
                id: CommunitySeed.personID(number),
                name: name,
                displayName: name.capitalized,
                follows: follows ?? Person.followed(by: number)
            )
            state.people.append(person)
            state.numbers[name.lowercased()] = number
            return person
        }
    }

    func follow(_ followed: Set<Int>, by person: Int) {
        state.withLock { $0.people[person].follows = followed.subtracting([person]) }
    }

    // MARK: Reading

    func post(_ id: Int64) -> Post? {
        state.withLock { state in state.indexByID[id].map { state.posts[$0] } }
    }

    /// Returns matching posts of a range, newest first, and whether there are more.
    func posts(_ range: PostRange, where isWanted: (Post) -> Bool) -> (posts: [Post], more: Bool) {
        state.withLock { state in
            let low = range.above.map { bound in state.posts.firstIndex(after: bound) } ?? 0
            let high = range.below.map { bound in state.posts.firstIndex(from: bound) } ?? state.posts.count
            guard low < high else { return ([], false) }
            var found: [Post] = []
            let indices = range.isUpward ? AnySequence(low..<high) : AnySequence((low..<high).reversed())
            for index in indices where isWanted(state.posts[index]) {
                if found.count == range.limit { return (range.isUpward ? found.reversed() : found, true) }
                found.append(state.posts[index])
            }
            return (range.isUpward ? found.reversed() : found, false)
        }
    }

    /// Returns a person's home timeline: their own posts and those of the people they follow.
    func home(of person: Person, _ range: PostRange) -> (posts: [Post], more: Bool) {
        posts(range) { $0.author == person.number || person.follows.contains($0.author) }
    }

    func replies(to post: Int64) -> [Post] {
        state.withLock { state in state.posts.filter { $0.parent == post } }
    }

    func notices(of person: Int) -> [Notice] {
        state.withLock { state in state.notices.filter { $0.recipient == person }.reversed() }
    }

    /// Returns a person's threads, the thread with the newest message first.
    func messageThreads(of person: Int) -> [MessageThread] {
        state.withLock { state in
            state.messageThreads.filter { $0.members.contains(person) && !$0.messages.isEmpty }
                .sorted { ($0.messages.last?.id ?? 0) > ($1.messages.last?.id ?? 0) }
        }
    }

    func messageThread(_ id: Int64, of person: Int) -> MessageThread? {
        state.withLock { state in state.messageThreads.first { $0.id == id && $0.members.contains(person) } }
    }

    // MARK: Listeners

    func listen(_ listener: @escaping @Sendable (CommunityEvent) -> Void) -> Int {
        state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = listener
            return state.nextListener
        }
    }

    func stopListening(_ number: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    /// Changes the state, and then calls the listeners outside of the lock.
    func change<Result>(_ body: (inout State) throws -> (Result, [CommunityEvent])) rethrows -> Result {
        let (result, events, listeners) = try state.withLock { state in
            let (result, events) = try body(&state)
            while state.posts.count > Self.postLimit { state.forgetOldest() }
            return (result, events, Array(state.listeners.values))
        }
        for event in events { for listener in listeners { listener(event) } }
        return result
    }
}

/// The requested part of a timeline, with exclusive bounds.
struct PostRange {
    var below: Int64?
    var above: Int64?
    var limit: Int
    /// Whether the posts next above the lower bound are wanted instead of the newest ones.
    var isUpward = false
}

extension Community.State {
    mutating func nextID(_ ids: IDGenerator, at time: Date) -> Int64 {
        lastID = ids.next(after: lastID, at: time)
        return lastID
    }

    mutating func append(_ post: Post) {
        indexByID[post.id] = posts.count
        posts.append(post)
    }

    mutating func remove(_ id: Int64) -> Post? {
        guard let index = indexByID[id] else { return nil }
        let post = posts.remove(at: index)
        indexByID = Dictionary(uniqueKeysWithValues: posts.enumerated().map { ($1.id, $0) })
        return post
    }

    fileprivate mutating func forgetOldest() {
        posts.removeFirst(posts.count / 10)
        indexByID = Dictionary(uniqueKeysWithValues: posts.enumerated().map { ($1.id, $0) })
    }
}

extension [Post] {
    fileprivate func firstIndex(from id: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    fileprivate func firstIndex(after id: Int64) -> Int { firstIndex(from: id + 1) }
}
