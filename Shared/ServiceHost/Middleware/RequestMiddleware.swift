import Blobs
import Foundation
import HTTPTypes
package import Hummingbird
import Logging
import ServiceClient
import ServiceContextModule
import Wire

/// The outermost middleware: it sets the request id and trace, converts errors to problem documents, and records the
/// request.
package struct RequestMiddleware: RouterMiddleware {
    package typealias Context = SuiteContext

    let recorder: RequestRecorder
    let allowedMethods: RouteMethods

    package func handle(
        _ request: Request,
        context: SuiteContext,
        next: (Request, SuiteContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let parent = TraceParent(request.headers[.traceparent])
        let trace = RequestTrace(requestID: Self.requestID(request.headers[.requestID]), traceparent: parent.text)
        var context = context
        context.requestID = trace.requestID
        context.logger[metadataKey: "requestId"] = "\(trace.requestID)"
        context.logger[metadataKey: "traceId"] = "\(parent.traceID)"
        var serviceContext = ServiceContext.current ?? .topLevel
        serviceContext.requestTrace = trace

        var response: Response
        do {
            response = try await ServiceContext.withValue(serviceContext) { try await next(request, context) }
        } catch {
            response = respond(to: error, of: request, context: context)
        }
        response.headers[.requestID] = trace.requestID
        response.headers[.traceparent] = parent.text
        let isLast = recorder.record(
            request.method.rawValue,
            context.endpointPath ?? "unknown",
            response.status.code,
            since: start,
            context.logger
        )
        if isLast { response.headers[.connection] = "close" }
        return response
    }

    private func respond(to error: any Error, of request: Request, context: SuiteContext) -> Response {
        guard var failure = APIError(known: error) else {
            context.logger.error("request failed", metadata: ["error": "\(String(reflecting: error))"])
            return APIError.internal.problem(requestID: context.requestID)
        }
        // The client learns only that storage is unavailable; the operator needs the cause.
        if failure.kind == .internal || error is BlobError && failure.kind != .tooLarge {
            context.logger.error("request failed", metadata: ["error": "\(String(reflecting: error))"])
        }
        var allowed: String?
        if context.endpointPath == "NotFound", let methods = allowedMethods.of(request.uri.path) {
            allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            failure = APIError(
                .methodNotAllowed,
                "method_not_allowed",
                "this path allows \(methods.isEmpty ? "no method" : allowed ?? "")"
            )
        }
        var response = failure.problem(requestID: context.requestID)
        response.headers[.allow] = allowed
        return response
    }

    /// Returns the client's request id if it is safe to log (1 to 128 letters, digits, `.`, `_`, `-`), otherwise a new
    /// id.
    static func requestID(_ given: String?) -> String {
        guard let given, (1...128).contains(given.utf8.count), given.utf8.allSatisfy(isPlain) else {
            return Base64URL.random(bytes: 12)
        }
        return given
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension Duration {
    var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }

    var milliseconds: Double {
        (Double(nanoseconds) / 10_000).rounded() / 100
    }
}
