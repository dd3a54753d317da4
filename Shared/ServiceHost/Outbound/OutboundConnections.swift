package import AsyncHTTPClient
import Locks
package import NIOCore
import NIOPosix
import NIOSSL
package import NetworkGuard
import ServiceLifecycle

/// An error that occurred before an outbound request was sent.
package struct OutboundConnectionError: Error {
    /// The reason in a few words, without text from users.
    package let reason: String
}

/// The HTTP connections of a service to external hosts, shared by all its requests.
///
/// For hosts that users chose, each address of a host has its own client, which connects to exactly the address that
/// was checked. A name that resolves differently at the check and at the connection therefore gains nothing.
package final class OutboundConnections: Service, Sendable {
    /// The client for hosts that the operator configured.
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

    /// Creates the connections.
    ///
    /// - Parameters:
    ///   - trustedCA: additional certificate authorities in PEM format.
    ///   - readTimeout: the limit for the silence of a response, after which its connection counts as lost. Streaming
    ///     servers send at least every 15 s, as Mastodon does.
    /// - Throws: a `SettingError` if the certificates are invalid.
    package init(trustedCA: String?, readTimeout: Duration = .seconds(60)) throws {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try TLSConfiguration.outbound(trustedCA: trustedCA),
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .seconds(5), read: TimeAmount(readTimeout)),
            decompression: .disabled
        )
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Report a connection error immediately instead of at the deadline.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.configuration = configuration
        open = HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    /// Sends a request to a host that a user or a peer chose.
    ///
    /// Every request connects to an address that the guard has checked; redirects are not followed.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - addresses: the guard.
    ///   - deadline: the deadline for the response's head; it does not interrupt DNS lookups.
    /// - Returns: the response.
    /// - Throws: an `OutboundConnectionError` if nothing was sent, or the error of the HTTP client.
    package func execute(
        _ request: HTTPClientRequest,
        guardedBy addresses: AddressGuard,
        deadline: NIODeadline
    ) async throws -> HTTPClientResponse {
        guard let url = OutboundURL(request.url), addresses.mayConnect(url.origin) else {
            throw OutboundConnectionError(reason: "the host is not public")
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
            // The client looks up the override by the URL's host, an IPv6 address without its brackets. Without an
            // override, it connects to the address directly.
            configuration.dnsOverride = [origin.host: address]
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
            let client = HTTPClient(
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                configuration: configuration
            )
            state.clients[endpoint] = PooledClient(client: client, usedAt: .now)
            return (client, removeOldest(from: &state))
        }
        for client in dropped { Task { await Self.close(client) } }
        return client
    }

    /// Removes and returns the least recently used clients if there are too many.
    private func removeOldest(from state: inout State) -> [HTTPClient] {
        guard state.clients.count > maximumClients else { return [] }
        let oldest = state.clients.sorted { $0.value.usedAt < $1.value.usedAt }.prefix(maximumClients / 8)
        for (endpoint, _) in oldest { state.clients[endpoint] = nil }
        return oldest.map(\.value.client)
    }

    /// Returns an address of a host from a lookup that concurrent requests share for 30 s, even if it failed.
    ///
    /// The lookup continues if its callers are cancelled, because it occupies a thread until it ends.
    private func address(of origin: HTTPOrigin, _ addresses: AddressGuard) async throws -> String {
        let lookUp = state.withLock { state in
            if let cached = state.found[origin.host], cached.until > .now { return cached.lookUp }
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
            case .unknownHost: throw OutboundConnectionError(reason: "the host does not exist")
            case .privateAddress: throw OutboundConnectionError(reason: "the host is not public")
            case .tooManyLookups:
                // This error says nothing about the host, so the next request looks it up again.
                state.withLock { state in
                    if state.found[origin.host]?.lookUp == lookUp { state.found[origin.host] = nil }
                }
                throw OutboundConnectionError(reason: "too many DNS lookups of the host's domain are running")
            }
        }
    }

    /// Runs until graceful shutdown, then closes the connections; requests in progress finish first.
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

    /// Closes a client; an error only says that it was closed before or has requests in progress, and needs no
    /// handling.
    private static func close(_ client: HTTPClient) async { try? await client.shutdown() }
}
