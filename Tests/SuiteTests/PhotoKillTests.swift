import AuthAPI
import ChildProcesses
import Foundation
import Glibc
import PhotosAPI
import Synchronization
import TestSupport
import Testing
import Wire

/// What those hear and find who look at photos while processes are killed, two of photos among them.
extension SuiteTests {
    @Suite struct PhotoKillTests {
        private static let victims = ["photos", "postgresql", "photos-2", "gateway"]
        /// What is posted before each kill, and again after it.
        private static let posts = SuiteTests.isSoak ? 20 : 4
        private static let comments = SuiteTests.isSoak ? 200 : 25

        @Test func acknowledgedPostsSurviveKills() async throws {
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
                let listener = Listener(path: "/photos/home/stream", person: bo, suite: suite)
                let listening = Task { try await listener.run() }
                try await eventually(within: .seconds(60), "listening") { listener.isReady }

                var posted: [String] = []
                var said: Set<String> = []
                for (round, victim) in Self.victims.enumerated() {
                    let first = try await ana.publishPost("round \(round), first")
                    posted.append(first.postId)
                    let talking = Task {
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
                    said = try await talking.value
                    let found = try await Self.comments(on: first.postId, by: ana)
                    #expect(found.count == Set(found).count && Set(found) == said, "after \(victim)")
                    let post = try await ana.retrying { try await ana.photos.post(first.postId) }
                    #expect(post.commentCount == said.count && post.likeCount == 1)
                }

                try await eventually(within: .seconds(120), "all heard") { listener.new.count >= posted.count }
                #expect(listener.new == posted)
                #expect(listener.reloads == 0)
                let feed = try await Self.home(of: bo)
                #expect(feed == posted.reversed())
                print("photos: \(posted.count) posts told, \(listener.connections) connections, nothing lost or twice")
                listening.cancel()
                _ = await listening.result
            }
        }

        private static func comments(on post: String, by person: Person) async throws -> [String] {
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                // Who was killed may be back at one instance and not yet at the other.
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

/// A client of a stream as a browser is one: it comes back by itself, with the last id that it has.
private final class Listener: Sendable {
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

    /// The posts that it was told of as new, in their order.
    var new: [String] { state.withLock(\.new) }
    var reloads: Int { state.withLock(\.reloads) }
    var connections: Int { state.withLock(\.connections) }
    var isReady: Bool { state.withLock { $0.lastID != nil } }

    /// Until it is cancelled.
    func run() async throws {
        while !Task.isCancelled {
            do {
                try await listen()
            } catch is CancellationError {
                return
            } catch {
                // Nobody is there just now.
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func listen() async throws {
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
                    // Another is told where one has just begun to follow somebody.
                    if event.json["reason"].string == "too_old" { state.reloads += 1 }
                }
            }
        }
    }
}
