import Logging
import NIOCore
import NIOHTTP1

extension ProxyHandler {
    func finishLog() {
        let duration = NIODeadline.now() - request.started
        loop.counters.count(
            route: request.route,
            status: request.status,
            nanoseconds: request.isLongLived ? nil : duration.nanoseconds
        )
        let level = logLevel
        guard state.logger.logLevel <= level else { return }
        state.logger.log(
            level: level,
            "request",
            metadata: [
                "method": "\(request.head.method)",
                "route": "\(request.route?.template ?? "none")",
                "status": "\(request.status)",
                "milliseconds": "\(Double(duration.nanoseconds / 10_000) / 100)",
                "upstream": "\(request.service.map { state.configuration.services[$0].name } ?? "none")",
                "received": "\(request.requestBytes)",
                "sent": "\(request.responseBytes)",
                "requestId": "\(request.requestID)",
                "traceId": "\(request.traceparent.dropFirst(3).prefix(32))",
            ]
        )
    }

    /// Health and status requests are logged at the info level only when they fail.
    private var logLevel: Logger.Level {
        switch request.route?.owner {
        case .gateway(.health), .gateway(.ready), .gateway(.status): request.status < 400 ? .debug : .info
        default: .info
        }
    }
}
