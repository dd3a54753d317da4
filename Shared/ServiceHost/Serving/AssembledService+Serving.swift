import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
package import ServiceLifecycle

extension AssembledService {
    /// The gateway lets go of an idle connection after 30 s, well before we do, so that no request meets a close.
    private static let idleTimeout = TimeAmount.seconds(75)

    /// The server of all there is, and what ends with it, in the order they start; port 0 is any that is free.
    ///
    /// A request's body may take `bodyGrace`, and longer where it keeps a minimum rate.
    package func server(
        host: String = "127.0.0.1",
        port: Int,
        bodyGrace: TimeAmount? = nil,
        logger: Logger,
        onServerRunning: @escaping @Sendable (any Channel) async -> Void = { _ in }
    ) -> [any Service] {
        let application = Application(
            responder: responder,
            server: builder(bodyGrace: bodyGrace ?? BodyRateLimit.grace),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: nil,
                backlog: 1_024
            ),
            onServerRunning: onServerRunning,
            logger: logger
        )
        return [application] + (gate.map { [GateCloser(gate: $0)] } ?? []) + [drain]
    }

    /// How the services' servers read HTTP/1: Hummingbird has no idle limit of its own, and a roomier one for headers.
    private func builder(bodyGrace: TimeAmount) -> HTTPServerBuilder {
        let bytes = 64 * 1_024
        let fields = 220
        guard let gate else {
            return .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [drain.counter(), BodyRateLimit(grace: bodyGrace)],
                    idleTimeout: Self.idleTimeout,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: bytes,
                        maxHeaderListSize: bytes,
                        maxHeaderFieldCount: fields
                    )
                )
            )
        }
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = bytes
        limits.maxHeaderListSize = bytes
        limits.maxHeaderFieldCount = fields
        return HTTPServerBuilder { [limits, drain] responder in
            GatedHTTP1Channel(
                responder: responder,
                gate: gate,
                limits: limits,
                idleTimeout: Self.idleTimeout,
                bodyGrace: bodyGrace,
                drain: drain
            )
        }
    }
}
