package import AsyncHTTPClient
import Locks
package import NIOCore
import NIOPosix
import NIOSSL
package import NetworkGuard
import ServiceLifecycle

/// Why somebody outside was not asked: nothing was sent.
package struct OutboundConnectionError: Error {
    /// In a few words, of which none is a user's.
    package let reason: String
}

/// The connections of a service to the world outside, shared by all who ask there.
///
/// Hosts that users name have a client for each address that they were found at: the address that was looked at is the
/// one connected to, so a name that means one thing to who checks and another to who connects gains nothing.
package final class OutboundConnections: Service, Sendable {
    /// For what the operator has set.
    package let open: HTTPClient

    private struct Endpoint: Hashable {
        let host: String
        let address: String
    }

    private struct PooledClient {
        let client: HTTPClient
        var usedAt: ContinuousClock.Instant
    }

    private struct State {
        var clients: [Endpoint: PooledClient] = [:]
        var found: [String: (lookUp: Task<[SocketAddress], any Error>, until: ContinuousClock.Instant)] = [:]
        var isShutDown = false
    }

    private let configuration: HTTPClient.Configuration
    private let state = Lock(State())
    private let maximumClients = 512

    /// - Parameters:
    ///   - trustedCA: certificates of authorities that are trusted beside the machine's, PEM.
    ///   - silence: how long an answer may say nothing before it is given up, the end of its connection having been lost
    ///     on the way, say. Who streams says something every quarter of a minute, as Mastodon does.
    /// - Throws: `SettingError` for certificates that cannot be read.
    package init(trustedCA: String?, readTimeout: Duration = .seconds(60)) throws {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try TLSConfiguration.outbound(trustedCA: trustedCA),
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .seconds(5), read: TimeAmount(readTimeout)),
            decompression: .disabled
        )
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Said at once rather than at the deadline.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.configuration = configuration
        open = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    /// Sends a request to a host that a user or a peer chose.
    ///
    /// The connection goes to an address that the guard has judged, at every request; redirects are not followed. The
    /// deadline is for the head of the answer and does not cut look-ups short.
    ///
    /// - Throws: `OutboundConnectionError` where nothing was sent, or what the HTTP client throws.
    package func execute(
        _ request: HTTPClientRequest,
        guardedBy addresses: AddressGuard,
        deadline: NIODeadline
    ) async throws -> HTTPClientResponse {
        guard let url = OutboundURL(request.url), addresses.mayConnect(url.origin) else {
            throw OutboundConnectionError(reason: "the host is not a public one")
        }
        var request = request
        request.url = url.text
        return try await client(for: url.origin, addresses).execute(request, deadline: deadline)
    }

    private func client(for origin: HTTPOrigin, _ addresses: AddressGuard) async throws -> HTTPClient {
        guard !addresses.allows(host: origin.host, port: origin.port) else { return open }
        let address = try await address(of: origin, addresses)
        let endpoint = Endpoint(host: origin.host, address: address)
        let (client, dropped) = try state.withLock { state in
            guard !state.isShutDown else { throw OutboundConnectionError(reason: "the service is stopping") }
            if let pooled = state.clients[endpoint] {
                state.clients[endpoint]?.usedAt = .now
                return (pooled.client, [HTTPClient]())
            }
            var configuration = configuration
            // The client looks the override up by the host as the URL has it, an IPv6 address without its brackets; an
            // address that is not found there is connected to as it is.
            configuration.dnsOverride = [origin.host: address]
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
            let client = HTTPClient(
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                configuration: configuration
            )
            state.clients[endpoint] = PooledClient(client: client, usedAt: .now)
            return (client, takeOldest(from: &state))
        }
        for client in dropped { Task { await Self.close(client) } }
        return client
    }

    /// The clients used longest ago, where there are too many.
    private func takeOldest(from state: inout State) -> [HTTPClient] {
        guard state.clients.count > maximumClients else { return [] }
        let oldest = state.clients.sorted { $0.value.usedAt < $1.value.usedAt }.prefix(maximumClients / 8)
        for (endpoint, _) in oldest { state.clients[endpoint] = nil }
        return oldest.map(\.value.client)
    }

    /// One look-up for all who ask for a host meanwhile, and for half a minute, whatever came of it.
    ///
    /// It goes on when who asked has given up: it has a thread until it ends.
    private func address(of origin: HTTPOrigin, _ addresses: AddressGuard) async throws -> String {
        let lookUp = state.withLock { state in
            if let known = state.found[origin.host], known.until > .now { return known.lookUp }
            if state.found.count >= maximumClients * 4 { state.found.removeAll() }
            let lookUp = Task { try await addresses.addresses(of: origin.host, port: origin.port) }
            state.found[origin.host] = (lookUp, .now + .seconds(30))
            return lookUp
        }
        do {
            let found = try await lookUp.cancellableValue
            guard let address = found.first(where: { addresses.permits($0, for: origin.host, port: origin.port) }),
                let text = address.ipAddress
            else { throw AddressGuardError.privateAddress }
            return text
        } catch let error as AddressGuardError {
            switch error {
            case .unknownHost: throw OutboundConnectionError(reason: "no such host")
            case .privateAddress: throw OutboundConnectionError(reason: "the host is not a public one")
            case .tooManyLookups:
                // Nothing was learned about the host, so the next request looks it up again.
                state.withLock { state in
                    if state.found[origin.host]?.lookUp == lookUp { state.found[origin.host] = nil }
                }
                throw OutboundConnectionError(reason: "too many names of the host's domain are being looked up")
            }
        }
    }

    /// Keeps the connections until the service stops, and lets requests under way end first.
    package func run() async throws {
        try? await gracefulShutdown()
        await shutdown()
    }

    package func shutdown() async {
        let clients = state.withLock { state in
            state.isShutDown = true
            defer { state.clients = [:] }
            return state.clients.values.map(\.client)
        }
        for client in clients + [open] { await Self.close(client) }
    }

    /// Closed twice, or with requests under way, it says so; there is nobody left whom that would help.
    private static func close(_ client: HTTPClient) async { try? await client.shutdown() }
}
