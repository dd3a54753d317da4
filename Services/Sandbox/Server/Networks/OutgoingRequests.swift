import AsyncHTTPClient
import Foundation
import Locks
import NIOCore
import NIOHTTP1

/// What networks ask of others by HTTP: the handshakes of webhooks, media that they are given an address of, deliveries.
final class OutgoingRequests: Sendable {
    private struct State {
        var client: HTTPClient?
        var isOver = false
    }

    private let state = Lock(State())

    /// Asks an address something, as the handshakes do; nil where nobody answers.
    func get(_ url: String) async -> (status: Int, body: String)? {
        guard let client = client() else { return nil }
        // Silence: who cannot be reached has not answered the handshake.
        guard let response = try? await client.execute(HTTPClientRequest(url: url), timeout: .seconds(10)),
            let body = try? await response.body.collect(upTo: 65_536)
        else { return nil }
        return (Int(response.status.code), String(buffer: body))
    }

    /// Fetches a file, as networks do that take addresses of media; nil where there is none.
    func fetch(_ url: String) async -> (type: String, bytes: ByteBuffer)? {
        guard let client = client() else { return nil }
        // Silence: what cannot be fetched is not there.
        guard let response = try? await client.execute(HTTPClientRequest(url: url), timeout: .seconds(20)),
            response.status == .ok, let bytes = try? await response.body.collect(upTo: 64 << 20)
        else { return nil }
        return (response.headers.first(name: "content-type") ?? "", bytes)
    }

    /// Whether a delivery was taken.
    func post(_ delivery: WebhookSender.Delivery) async -> Bool {
        guard let client = client() else { return false }
        var request = HTTPClientRequest(url: delivery.url)
        request.method = .POST
        request.headers = delivery.headers
        request.body = .bytes(delivery.body)
        // Silence: what does not arrive is tried again.
        guard let response = try? await client.execute(request, timeout: .seconds(20)) else { return false }
        return 200...299 ~= response.status.code
    }

    func stop() async {
        let client = state.withLock { state in
            state.isOver = true
            return state.client.take()
        }
        // Silence: it ends with the process at the latest.
        try? await client?.shutdown()
    }

    /// Made by the first call: most tests ask nobody.
    private func client() -> HTTPClient? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            if state.client == nil { state.client = HTTPClient(eventLoopGroupProvider: .singleton) }
            return state.client
        }
    }
}
