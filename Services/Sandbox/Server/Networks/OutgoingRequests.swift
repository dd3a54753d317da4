import AsyncHTTPClient
import Foundation
import Locks
import NIOCore
import NIOHTTP1

/// The HTTP requests that networks send: webhook challenges, webhook deliveries, and downloads of media.
final class OutgoingRequests: Sendable {
    private struct State {
        var client: HTTPClient?
        var isOver = false
    }

    private let state = Lock(State())

    /// Sends a GET request, as for a webhook challenge, or returns nil when there is no response.
    func get(_ url: String) async -> (status: Int, body: String)? {
        guard let client = client() else { return nil }
        // An unreachable address counts as an unanswered challenge.
        guard let response = try? await client.execute(HTTPClientRequest(url: url), timeout: .seconds(10)),
            let body = try? await response.body.collect(upTo: 65_536)
        else { return nil }
        return (Int(response.status.code), String(buffer: body))
    }

    /// Downloads a file of up to 64 MiB, or returns nil when that fails.
    func fetch(_ url: String) async -> (type: String, bytes: ByteBuffer)? {
        guard let client = client() else { return nil }
        // The network reports a failed download as a missing file.
        guard let response = try? await client.execute(HTTPClientRequest(url: url), timeout: .seconds(20)),
            response.status == .ok, let bytes = try? await response.body.collect(upTo: 64 << 20)
        else { return nil }
        return (response.headers.first(name: "content-type") ?? "", bytes)
    }

    /// Sends a webhook delivery, and returns whether the receiver accepted it with a 2xx status.
    func post(_ delivery: WebhookSender.Delivery) async -> Bool {
        guard let client = client() else { return false }
        var request = HTTPClientRequest(url: delivery.url)
        request.method = .POST
        request.headers = delivery.headers
        request.body = .bytes(delivery.body)
        // The sender retries a failed delivery.
        guard let response = try? await client.execute(request, timeout: .seconds(20)) else { return false }
        return 200...299 ~= response.status.code
    }

    func stop() async {
        let client = state.withLock { state in
            state.isOver = true
            return state.client.take()
        }
        // The process closes the connections at the latest.
        try? await client?.shutdown()
    }

    /// Returns the HTTP client, which the first call creates, because most tests send no requests.
    private func client() -> HTTPClient? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            if state.client == nil { state.client = HTTPClient(eventLoopGroupProvider: .singleton) }
            return state.client
        }
    }
}
