import ConversationsAPI
import Logging
import NIOCore
import ServiceHost
import SocketIO
import Wire

/// Handles Socket.IO events: signs clients in, finds the handler of an event, and sends the response.
///
/// A socket receives its responses in the order of its requests.
struct SocketEventRouter: Sendable {
    let events: SocketEvents
    let authenticator: SocketAuthenticator
    /// How long a socket may stay open before its user signs in.
    let authenticateTimeout: TimeAmount
    let rateLimit: SocketRateLimit
    let metrics: SocketMetrics
    let logger: Logger

    func serve(_ namespace: Namespace) {
        namespace.onConnect(connect)
        namespace.onConnected(connected)
        namespace.onAnyOther(received)
        namespace.onDisconnect { socket, reason in
            disconnected(socket)
            // Without the only namespace, a connection would have no user and no time limit.
            if reason == .clientNamespaceDisconnect { socket.disconnect(close: true) }
        }
    }

    // MARK: Connecting and disconnecting

    private func connect(_ socket: Socket, _ handshake: SocketHandshake) -> ConnectDecision {
        let socketSession = SocketSession()
        socket[SocketSession.Key.self] = socketSession
        do {
            guard let credential = try SocketCredential(handshake) else { return .accept }
            return .later {
                do {
                    socketSession.hold(try await authenticator.verify(credential))
                    return .accept
                } catch {
                    return .refuse(refusal(of: error, for: SocketEvents.authenticate))
                }
            }
        } catch {
            return .refuse(refusal(of: error, for: SocketEvents.authenticate))
        }
    }

    private func connected(_ socket: Socket) {
        metrics.opened()
        guard let socketSession = socket[SocketSession.Key.self] else { return }
        guard let signIn = socketSession.signIn else {
            socketSession.end(socket, in: authenticateTimeout)
            return
        }
        socket.perform { await completeSignIn(signIn, socket, socketSession) }
    }

    /// Completes a sign-in by handshake, and emits the response as if the client had sent `authenticate`.
    private func completeSignIn(_ signIn: VerifiedSignIn, _ socket: Socket, _ socketSession: SocketSession) async {
        do {
            let complete = try await authenticator.finish(signIn, socket, socketSession)
            let response = try SocketResponse(SignedInDevice(device: signIn.device, complete: complete))
            socket.emit(SocketEvents.authenticate, response.arguments)
        } catch {
            socket.emit(SocketEvents.authenticate, SocketResponse(apiError(error, SocketEvents.authenticate)).arguments)
            socket.disconnect(close: true)
        }
    }

    private func disconnected(_ socket: Socket) {
        metrics.closed()
        guard let socketSession = socket[SocketSession.Key.self] else { return }
        authenticator.leave(socketSession)
    }

    // MARK: Requests

    private func received(_ socket: Socket, _ event: SocketEvent) {
        guard let socketSession = socket[SocketSession.Key.self] else { return }
        guard socketSession.allowsRequest(rateLimit) else {
            reply(SocketResponse(Self.tooMany), to: event, socket)
            return
        }
        let began = NIODeadline.now()
        socket.perform {
            let response = await response(to: event, socket, socketSession)
            reply(response, to: event, socket)
            metrics.recordResponse(name(of: event.name), response.code, since: began)
            if event.name == SocketEvents.authenticate, socketSession.refusals >= Self.maximumRefusals {
                socket.disconnect(close: true)
            }
        }
    }

    private func response(
        to event: SocketEvent,
        _ socket: Socket,
        _ socketSession: SocketSession
    ) async -> SocketResponse {
        do {
            guard event.name != SocketEvents.authenticate else {
                return try await authenticate(event, socket, socketSession)
            }
            guard let caller = socketSession.caller else { throw Self.notSignedIn }
            guard let handler = events[event.name] else { throw Self.unknown }
            return try await handler(SocketCall(caller: caller, payload: event.arguments[0]))
        } catch {
            return SocketResponse(apiError(error, event.name))
        }
    }

    private func authenticate(
        _ event: SocketEvent,
        _ socket: Socket,
        _ socketSession: SocketSession
    ) async throws -> SocketResponse {
        let payload = try SocketCall.decode(Authentication.self, from: event.arguments[0], limits: .handshake)
        let signIn = try await verify(payload.credential(), socketSession)
        let complete = try await authenticator.finish(signIn, socket, socketSession)
        return try SocketResponse(SignedInDevice(device: signIn.device, complete: complete))
    }

    /// Verifies a credential, and counts rejected credentials.
    private func verify(_ credential: SocketCredential, _ socketSession: SocketSession) async throws -> VerifiedSignIn {
        do {
            return try await authenticator.verify(credential)
        } catch {
            if APIError(known: error)?.kind == .forbidden { socketSession.countRefusal() }
            throw error
        }
    }

    /// The maximum number of rejected credentials, because the gateway's limits do not cover the cost of their
    /// verification.
    private static let maximumRefusals = 5

    /// Responds as the client requested: by acknowledgement, or by an event of the same name.
    private func reply(_ response: SocketResponse, to event: SocketEvent, _ socket: Socket) {
        if let acknowledge = event.acknowledgement {
            acknowledge(response.arguments)
        } else if events.contains(event.name) {
            socket.emit(event.name, response.arguments)
        }
    }

    /// Returns the event's name for logs and metrics; "unknown" for an event without a handler, because clients can
    /// choose any name.
    private func name(of event: String) -> String {
        events.contains(event) ? event : "unknown"
    }

    // MARK: Errors

    private func refusal(of error: any Error, for event: String) -> ConnectRefusal {
        let apiError = apiError(error, event)
        return ConnectRefusal(apiError.message, data: SocketResponse(apiError).json)
    }

    private func apiError(_ error: any Error, _ event: String) -> APIError {
        if let apiError = APIError(known: error), apiError.kind != .internal { return apiError }
        let name = name(of: event)
        logger.error("socket request failed", metadata: ["event": "\(name)", "error": "\(String(reflecting: error))"])
        return .internal
    }

    private static let notSignedIn = APIError(
        .forbidden,
        "authentication_required",
        "sign in first with the event \"authenticate\""
    )
    private static let unknown = APIError(.invalid, "unknown_event", "there is no such event")
    private static let tooMany = APIError(.rateLimited, "rate_limited", "too many requests; slow down")
}
