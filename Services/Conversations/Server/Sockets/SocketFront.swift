import ConversationsAPI
import Logging
import NIOCore
import ServiceHost
import SocketIO
import Wire

/// Answers what clients say over Socket.IO: lets them in, finds what is to be done about an event, says what came of it.
///
/// The requests of a socket are answered in their order.
struct SocketFront: Sendable {
    let events: SocketEvents
    let signIns: SocketSignIns
    /// How long a socket may be open before its user has signed in.
    let patience: TimeAmount
    let pace: SocketPace
    let meters: SocketMeters
    let logger: Logger

    func serve(_ namespace: Namespace) {
        namespace.onConnect(connect)
        namespace.onConnected(connected)
        namespace.onAnyOther(heard)
        namespace.onDisconnect { socket, reason in
            left(socket)
            // Without the one namespace there is, a connection has no user and no time limit.
            if reason == .clientNamespaceDisconnect { socket.disconnect(close: true) }
        }
    }

    // MARK: Coming and going

    private func connect(_ socket: Socket, _ handshake: SocketHandshake) -> ConnectDecision {
        let seat = SocketSeat()
        socket[SocketSeat.Key.self] = seat
        do {
            guard let credential = try SocketCredential(handshake) else { return .accept }
            return .later {
                do {
                    seat.hold(try await signIns.recognise(credential))
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
        meters.opened()
        guard let seat = socket[SocketSeat.Key.self] else { return }
        guard let arrival = seat.arrival else {
            seat.end(socket, in: patience)
            return
        }
        socket.perform { await welcome(arrival, socket, seat) }
    }

    /// Lets in who has signed in by his handshake, and tells him so as if he had asked.
    private func welcome(_ arrival: SocketArrival, _ socket: Socket, _ seat: SocketSeat) async {
        do {
            let complete = try await signIns.enter(arrival, socket, seat)
            let answer = try SocketAnswer(SignedInDevice(device: arrival.device, complete: complete))
            socket.emit(SocketEvents.authenticate, answer.arguments)
        } catch {
            socket.emit(SocketEvents.authenticate, SocketAnswer(told(error, SocketEvents.authenticate)).arguments)
            socket.disconnect(close: true)
        }
    }

    private func left(_ socket: Socket) {
        meters.closed()
        guard let seat = socket[SocketSeat.Key.self] else { return }
        signIns.leave(seat)
    }

    // MARK: Requests

    private func heard(_ socket: Socket, _ event: SocketEvent) {
        guard let seat = socket[SocketSeat.Key.self] else { return }
        guard seat.mayAsk(pace) else {
            reply(SocketAnswer(Self.tooMany), to: event, socket)
            return
        }
        let began = NIODeadline.now()
        socket.perform {
            let answer = await answer(to: event, socket, seat)
            reply(answer, to: event, socket)
            meters.answered(name(of: event.name), answer.code, since: began)
            if event.name == SocketEvents.authenticate, seat.refusals >= Self.mostRefusals {
                socket.disconnect(close: true)
            }
        }
    }

    private func answer(to event: SocketEvent, _ socket: Socket, _ seat: SocketSeat) async -> SocketAnswer {
        do {
            guard event.name != SocketEvents.authenticate else { return try await authenticate(event, socket, seat) }
            guard let caller = seat.caller else { throw Self.notSignedIn }
            guard let handler = events[event.name] else { throw Self.unknown }
            return try await handler(SocketCall(caller: caller, payload: event.arguments[0]))
        } catch {
            return SocketAnswer(told(error, event.name))
        }
    }

    private func authenticate(_ event: SocketEvent, _ socket: Socket, _ seat: SocketSeat) async throws -> SocketAnswer {
        let payload = try SocketCall.decode(Authentication.self, from: event.arguments[0], limits: .handshake)
        let arrival = try await recognise(payload.credential(), seat)
        let complete = try await signIns.enter(arrival, socket, seat)
        return try SocketAnswer(SignedInDevice(device: arrival.device, complete: complete))
    }

    /// Verifies a credential, and counts one that is refused.
    private func recognise(_ credential: SocketCredential, _ seat: SocketSeat) async throws -> SocketArrival {
        do {
            return try await signIns.recognise(credential)
        } catch {
            if APIError(known: error)?.kind == .forbidden { seat.refuse() }
            throw error
        }
    }

    /// How many bad credentials a client may show: the gateway's limits do not see what their verification costs.
    private static let mostRefusals = 5

    /// Answers as the client asked for it: by acknowledgement, or by an event of the same name.
    private func reply(_ answer: SocketAnswer, to event: SocketEvent, _ socket: Socket) {
        if let acknowledge = event.acknowledgement {
            acknowledge(answer.arguments)
        } else if events.contains(event.name) {
            socket.emit(event.name, answer.arguments)
        }
    }

    /// What a client calls an event may be anything, and is for nobody's log.
    private func name(of event: String) -> String {
        events.contains(event) ? event : "unknown"
    }

    // MARK: Errors

    private func refusal(of error: any Error, for event: String) -> ConnectRefusal {
        let told = told(error, event)
        return ConnectRefusal(told.message, data: SocketAnswer(told).json)
    }

    private func told(_ error: any Error, _ event: String) -> APIError {
        if let known = APIError(known: error), known.kind != .internal { return known }
        let name = name(of: event)
        logger.error("socket request failed", metadata: ["event": "\(name)", "error": "\(String(reflecting: error))"])
        return .internal
    }

    private static let notSignedIn = APIError(.forbidden, "authentication_required", "sign in first, with authenticate")
    private static let unknown = APIError(.invalid, "unknown_event", "there is no such event")
    private static let tooMany = APIError(.rateLimited, "rate_limited", "too many requests; slow down")
}
