import Foundation
import Locks
import Wire

/// The records as clients wrote them, and the blobs and video jobs by their ids.
final class BlueskyRecords: Sendable {
    private struct State {
        var records: [Int64: JSONValue] = [:]
        var keys: [Int64: String] = [:]
        var posts: [String: Int64] = [:]
        var blobs: [String: Int64] = [:]
        var jobs: [String: (upload: Int64, at: Date)] = [:]
    }

    private let state = Lock(State())

    func save(_ record: JSONValue, of post: Int64, key: String, by did: String) {
        state.withLock { state in
            if state.records.count > 100_000 { state = State() }
            state.records[post] = record
            state.keys[post] = key
            state.posts["\(did) \(key)"] = post
        }
    }

    func record(_ post: Int64) -> JSONValue? { state.withLock { $0.records[post] } }

    func key(of post: Int64) -> String { state.withLock { $0.keys[post] } ?? BlueskyNames.tid(post) }

    func post(_ key: String, by did: String) -> Int64? {
        state.withLock { $0.posts["\(did) \(key)"] } ?? BlueskyNames.id(key)
    }

    func save(blob cid: String, _ upload: Int64) { state.withLock { $0.blobs[cid] = upload } }

    func blob(_ cid: String) -> Int64? { state.withLock { $0.blobs[cid] } }

    func save(job: String, _ upload: Int64, at time: Date) { state.withLock { $0.jobs[job] = (upload, time) } }

    func job(_ job: String) -> (upload: Int64, at: Date)? { state.withLock { $0.jobs[job] } }
}
