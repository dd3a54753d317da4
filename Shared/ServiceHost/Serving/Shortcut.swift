import Logging
import NIOCore
package import NIOHTTP1

/// A handler of simple requests on the event loop of their connection, before the routes.
///
/// A request to the routes costs tasks and several thread switches; a shortcut costs only its own work.
package protocol Shortcut: Sendable {
    /// The route's name in the log and the metrics.
    var route: String { get }

    /// Returns the response to a `GET` or `HEAD` without a body, or nil to forward the request to the routes; must not
    /// block.
    func answer(to request: HTTPRequestHead) -> ShortcutResponse?
}

/// The response of a shortcut.
package struct ShortcutResponse {
    package let status: HTTPResponseStatus
    package let headers: HTTPHeaders
    /// An open file and the range of bytes to send; the file is closed after sending.
    package let body: (file: CInt, bytes: Range<Int64>)?

    package init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, body: (file: CInt, bytes: Range<Int64>)? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension ConnectionGate {
    /// Creates a gate for a shortcut, with the routes installed from the start because they close idle connections.
    init(_ shortcut: any Shortcut, recorder: RequestRecorder, logger: Logger) {
        self.init(
            install: { channel, next, _ in
                try channel.pipeline.syncOperations.addHandler(ShortcutHandler(shortcut, recorder, logger))
                try next(channel)
            },
            close: {}
        )
    }
}
