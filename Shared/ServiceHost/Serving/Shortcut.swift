import Logging
import NIOCore
package import NIOHTTP1

/// Answers some requests before the routes do, on the thread of their connection: those whose answer is known already.
///
/// A request through the routes costs tasks and turns of several threads; this one costs what it says.
package protocol Shortcut: Sendable {
    /// What the log and the metrics call it.
    var route: String { get }

    /// The answer to a `GET` or `HEAD` without a body; nil where the routes are to answer. It waits for nothing.
    func answer(to request: HTTPRequestHead) -> ShortcutResponse?
}

/// What a shortcut answers.
package struct ShortcutResponse {
    package let status: HTTPResponseStatus
    package let headers: HTTPHeaders
    /// A file that is open, and which bytes of it are the body; the file is closed once they are sent.
    package let body: (file: CInt, bytes: Range<Int64>)?

    package init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, body: (file: CInt, bytes: Range<Int64>)? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension ConnectionGate {
    /// The routes are there from the beginning, since they see to a connection's silence and end.
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
