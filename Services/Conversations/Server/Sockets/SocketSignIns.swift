import ConversationsAPI
import Credentials
import Foundation
import NIOCore
import SocketIO
import Wire

/// The rules of signing in by a socket: as one person, for as long as the session lasts, and hearing from then on what
/// happens.
struct SocketSignIns: Sendable {
    let verifier: CredentialVerifier
    let devices: Devices
    let slots: SocketSlots
    let delivery: Delivery
    /// Bytes that a packet may have from then on.
    let payloadLimit: Int
    let now: @Sendable () -> Date

    /// Finds out who a credential stands for.
    func recognise(_ credential: SocketCredential) async throws -> SocketArrival {
        let identity = try await verifier.identify(credential.token)
        var device = try await devices.signIn(by: identity)
        device.authToken = credential.token
        return SocketArrival(
            user: identity.user,
            session: identity.session,
            device: device,
            // A jwt is renewed every hour; a session of a customer's account server ends when it was said to.
            ends: SessionToken.isOne(credential.token) ? identity.expires : nil,
            last: credential.last
        )
    }

    /// Lets him in: from then on he hears what happens, may send more at once, and is asked for nothing else.
    ///
    /// Who sits there already may show a newer credential of his.
    func enter(_ arrival: SocketArrival, _ socket: Socket, _ seat: SocketSeat) async throws {
        let former = seat.caller
        guard former.map({ $0.user == arrival.user }) ?? true else { throw Self.taken }
        if former == nil { try slots.take(arrival.user) }
        do {
            try await seatHim(arrival, socket, seat)
        } catch {
            if former == nil { slots.give(arrival.user) }
            throw error
        }
        if let former { delivery.detach(former.connection) }
        socket.connection.setMaxPayload(payloadLimit)
        socket.connection.admit()
        let life = arrival.ends?.timeIntervalSince(now())
        seat.end(socket, in: life.map { .milliseconds(Int64(max(0, min($0, 1e9)) * 1_000)) })
    }

    private func seatHim(_ arrival: SocketArrival, _ socket: Socket, _ seat: SocketSeat) async throws {
        let connection = try await delivery.attach(
            socket,
            user: arrival.user,
            device: arrival.device.summary.serial,
            session: arrival.session,
            last: arrival.last
        )
        let caller = SocketCaller(user: arrival.user, device: arrival.device.summary.serial, connection: connection)
        guard seat.take(caller) else {
            delivery.detach(connection)
            throw Self.gone
        }
    }

    /// The socket is gone.
    func leave(_ seat: SocketSeat) {
        guard let caller = seat.leave() else { return }
        slots.give(caller.user)
        delivery.detach(caller.connection)
    }

    private static let taken = APIError(
        .forbidden,
        "other_user",
        "somebody else is signed in here; open another socket"
    )
    private static let gone = APIError.unavailable("a socket that is closed")
}

/// Somebody who has shown who he is.
struct SocketArrival: Sendable {
    let user: User.ID
    let session: String
    let device: Device
    /// Nil: when auth says so.
    let ends: Date?
    /// What he knows already: the newest change, by conversation.
    let last: [Conversation.ID: Int64]
}
