import AuthAPI
import ChildProcesses
import Foundation
import Glibc
import PhotosAPI
import Synchronization
import TestSupport
import Testing
import Wire

/// Photos while processes are killed, among them two instances of photos.
extension SuiteTests {
    @Suite("Photos during kills") struct PhotoKillTests {
        private static let victims = ["photos", "postgresql", "photos-2", "gateway"]
        /// The number of posts before each kill, and again after it.
        private static let posts = SuiteTests.isSoak ? 20 : 4
        private static let comments = SuiteTests.isSoak ? 200 : 25

        @Test("Acknowledged posts and comments survive kills, and a stream receives each post once")
        func acknowledgedPosts() async throws {
            let urls = try LoopbackPort.free(2).map { "http://127.0.0.1:\($0.number)" }.joined(separator: ",")
            let settings = [
                "PHOTOS_URL": urls, "RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0",
                "STREAM_HEARTBEAT": "1",
            ]
            try await RunningSuite.with(settings: settings) { suite in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                _ = try await ana.photos.me()
                try await bo.photos.follow(ana.signIn.userId)
                let subscriber = StreamSubscriber(path: "/photos/home/stream", person: bo, suite: suite)
                let subscription = Task { try await subscriber.run() }
                try await eventually(within: .seconds(60), "stream ready") { subscriber.isReady }

                var posted: [String] = []
                var commented: Set<String> = []
                for (round, victim) in Self.victims.enumerated() {
                    let first = try await ana.publishPost("round \(round), first")
                    posted.append(first.postId)
                    let commenting = Task {
                        try await withThrowingTaskGroup(of: String.self) { group in
                            for number in 0..<Self.comments {
                                group.addTask {
                                    let text = "round \(round), comment \(number)"
                                    _ = try await bo.comment(text, about: first.postId)
                                    try await bo.like(first.postId)
                                    return text
                                }
                            }
                            return try await group.reduce(into: Set()) { $0.insert($1) }
                        }
                    }
                    for number in 0..<Self.posts {
                        posted.append(try await ana.publishPost("\(round) \(number) before").postId)
                    }
                    try suite.process(victim).signal(SIGKILL)
                    for number in 0..<Self.posts {
                        posted.append(try await ana.publishPost("\(round) \(number) after").postId)
                    }
                    commented = try await commenting.value
                    let found = try await Self.comments(on: first.postId, by: ana)
                    #expect(found.count == Set(found).count, "after \(victim)")
                    #expect(Set(found) == commented, "after \(victim)")
                    let post = try await ana.retrying { try await ana.photos.post(first.postId) }
                    #expect(post.commentCount == commented.count)
                    #expect(post.likeCount == 1)
                }

                try await eventually(within: .seconds(120), "all posts received") {
                    subscriber.new.count >= posted.count
                }
                #expect(subscriber.new == posted)
                #expect(subscriber.reloads == 0)
                let feed = try await Self.home(of: bo)
                #expect(feed == posted.reversed())
                print(
                    "photos: \(posted.count) posts, \(subscriber.connections) connections, none lost or repeated"
                )
                subscription.cancel()
                _ = await subscription.result
            }
        }

        private static func comments(on post: String, by person: Person) async throws -> [String] {
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                // After a kill, one instance may be ready earlier than the other.
                let page = try await person.retrying { [cursor] in
                    try await person.photos.comments(on: post, limit: 100, cursor: cursor)
                }
                found += page.items.map(\.text)
                cursor = page.next
            } while cursor != nil
            return found
        }

        private static func home(of person: Person) async throws -> [String] {
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await person.retrying { [cursor] in
                    try await person.photos.home(limit: 100, cursor: cursor)
                }
                found += page.items.map(\.postId)
                cursor = page.next
            } while cursor != nil
            return found
        }
    }
}

/// A client of an event stream that reconnects with its last event ID, as a browser does.
private final class StreamSubscriber: Sendable {
    private struct State {
        var new: [String] = []
        var reloads = 0
        var connections = 0
        var lastID: String?
    }

    private let path: String
    private let person: Person
    private let suite: RunningSuite
    private let state = Mutex(State())

    init(path: String, person: Person, suite: RunningSuite) {
        self.path = path
        self.person = person
        self.suite = suite
    }

    /// The IDs of the new posts, in the order received.
    var new: [String] { state.withLock(\.new) }
    var reloads: Int { state.withLock(\.reloads) }
    var connections: Int { state.withLock(\.connections) }
    var isReady: Bool { state.withLock { $0.lastID != nil } }

    /// Receives events until it is cancelled.
    func run() async throws {
        while !Task.isCancelled {
            do {
                try await receive()
            } catch is CancellationError {
                return
            } catch {
                // No instance is reachable at the moment.
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func receive() async throws {
        try await EventStreamClient.with(
            port: suite.gatewayPort,
            path,
            token: person.signIn.jwt,
            after: state.withLock(\.lastID),
            limit: .seconds(600)
        ) { stream in
            guard stream.status == 200 else { return }
            state.withLock { $0.connections += 1 }
            while let piece = await stream.next() {
                state.withLock { state in
                    state.lastID = stream.lastID
                    guard case .event(let event) = piece else { return }
                    if event.name == "new" { state.new.append(event.json["postId"].string ?? "") }
                    // The reload after a new follow has another reason.
                    if event.json["reason"].string == "too_old" { state.reloads += 1 }
                }
            }
        }
    }
}
