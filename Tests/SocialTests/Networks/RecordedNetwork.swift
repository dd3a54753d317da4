import Foundation
import HTTPTypes
import NIOCore
import OAuth1
import SocialAPI
import Synchronization
import Testing
import Wire

@testable import SocialServer

/// Responds to requests with recorded responses, each once and in order, and records the requests.
///
/// It checks only formats. The sandbox checks whether a network would accept the requests.
final class RecordedNetwork: NetworkHTTP {
    private struct State {
        var answers: [String: [Result<NetworkResponse, NetworkHTTPFailure>]] = [:]
        var asked: [NetworkRequest] = []
    }

    private let state = Mutex(State())
    private let hosts: Set<String>

    init(hosts: Set<String> = []) { self.hosts = hosts }

    /// Adds a response to `GET https://host/path` with any query.
    func answer(_ request: String, _ status: Int = 200, _ body: String = "{}", _ headers: [String: String] = [:]) {
        var fields = HTTPFields()
        for (name, value) in headers { if let name = HTTPField.Name(name) { fields[name] = value } }
        let response = NetworkResponse(status: status, headers: fields, body: ByteBuffer(string: body))
        state.withLock { $0.answers[request, default: []].append(.success(response)) }
    }

    func fail(_ request: String, _ failure: NetworkHTTPFailure) {
        state.withLock { $0.answers[request, default: []].append(.failure(failure)) }
    }

    var asked: [NetworkRequest] { state.withLock(\.asked) }
    var last: NetworkRequest? { asked.last }

    func send(_ request: NetworkRequest) async throws -> NetworkResponse {
        let answer = try #require(next(request), "there is no response to \(request.name)")
        return try answer.get()
    }

    func open(_ request: NetworkRequest) async throws -> NetworkStream {
        let response = try await send(request)
        return NetworkStream(
            status: response.status,
            headers: response.headers,
            // The body is split, as on a network.
            body: PulledSequence {
                var pieces = response.body.readableBytesView.chunks(of: 7).makeIterator()
                return { pieces.next().map { ByteBuffer(bytes: $0) } }
            }
        )
    }

    func mayConnect(_ url: String) -> Bool { URL(string: url)?.host().map(hosts.contains) ?? false }

    private func next(_ request: NetworkRequest) -> Result<NetworkResponse, NetworkHTTPFailure>? {
        state.withLock { state in
            state.asked.append(request)
            guard var waiting = state.answers[request.name], !waiting.isEmpty else { return nil }
            defer { state.answers[request.name] = waiting }
            return waiting.removeFirst()
        }
    }
}

extension ByteBufferView {
    fileprivate func chunks(of size: Int) -> [Slice<ByteBufferView>] {
        stride(from: startIndex, to: endIndex, by: size).map {
            Slice(base: self, bounds: $0..<Swift.min($0 + size, endIndex))
        }
    }
}

extension NetworkRequest {
    /// `GET https://host/path`.
    var name: String { "\(method.rawValue) \(url.prefix { $0 != "?" })" }
    func query(_ name: String) -> String? { FormField.parse(url.drop { $0 != "?" }.dropFirst())[name] }
    var text: String { body.map { String(buffer: $0) } ?? "" }
    func form(_ name: String) -> String? { FormField.parse(text)[name] }
    var json: JSONValue? { try? JSONParser.parse(text.utf8) }
    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}

/// The current time in all tests of connectors.
let testNow = Date(timeIntervalSince1970: 1_795_000_000)

extension ConnectorParts {
    init(_ network: RecordedNetwork, _ baseURL: String, id: String? = "app", secret: String? = "app-secret") {
        self.init(
            key: ApplicationKey(baseURL: baseURL, id: id, secret: secret),
            http: network,
            now: { testNow }
        )
    }
}

extension NetworkAccount {
    /// Returns an account of Ana.
    static func ann(
        id: String? = "1",
        _ tokens: NetworkTokens = NetworkTokens(access: "token"),
        instance: String? = nil,
        details: [String: String] = [:]
    ) -> NetworkAccount {
        NetworkAccount(
            owner: User.ID(application: "roost", user: "ann"),
            id: id,
            username: "ann",
            tokens: tokens,
            instance: instance,
            details: details
        )
    }
}

extension NetworkPost {
    static func saying(_ text: String, photos: [OutgoingMedia] = [], video: OutgoingMedia? = nil) -> NetworkPost {
        NetworkPost(key: UUID(), createdAt: testNow, text: text, photos: photos, video: video)
    }
}

extension NetworkReply {
    static func saying(_ text: String, in thread: String) -> NetworkReply {
        NetworkReply(key: UUID(), createdAt: testNow, thread: thread, text: text)
    }
}

extension OutgoingMedia {
    static let photo = OutgoingMedia(
        bytes: ByteBuffer(bytes: [0xFF, 0xD8, 0xFF, 0xE0]),
        type: "image/jpeg",
        width: 4,
        height: 3,
        alt: "a cat"
    )
    static let video = OutgoingMedia(bytes: ByteBuffer(string: "....ftypmp42"), type: "video/mp4", width: 4, height: 3)
}

/// Returns the error of a call as the caller receives it, or nil.
func failure<Value: Sendable>(isWrite: Bool = false, of call: () async throws -> Value) async -> NetworkError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return NetworkError(error, isWrite: isWrite)
    }
}

/// A pause that does not wait.
let noPause: Pause = { _ in }
