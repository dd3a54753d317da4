import ConversationsAPI
import Credentials
import Foundation
import NIOCore
import SocketIO
import Wire

/// The rules of signing in by a socket: a socket belongs to one user until the session ends, and receives the user's
/// events.
struct SocketAuthenticator: Sendable {
    let verifier: CredentialVerifier
    let devices: Devices
    let slots: SocketLimit
    let delivery: Delivery
    /// The maximum bytes of a packet after the sign-in.
    let payloadLimit: Int
    let now: @Sendable () -> Date

    /// Returns the user, the session and the device of a credential.
    func verify(_ credential: SocketCredential) async throws -> VerifiedSignIn {
        let identity = try await verifier.identify(credential.token)
        var device = try await devices.signIn(by: identity)
        device.authToken = credential.token
        return VerifiedSignIn(
            user: identity.user,
            session: identity.session,
            device: device,
            // A JWT is renewed every hour; a session of a customer's account server ends at the time that was set for
            // it.
            ends: SessionToken.isWellFormed(credential.token) ? identity.expires : nil,
            last: credential.last
        )
    }

    /// Completes a sign-in: from then on the socket receives events, may send larger packets, and has no sign-in
    /// timeout.
    ///
    /// A user who is already signed in may present a newer credential.
    ///
    /// - Returns: whether the client received every chat that it did not have; nil when the client did not state what
    ///   it has.
    func finish(_ signIn: VerifiedSignIn, _ socket: Socket, _ socketSession: SocketSession) async throws -> Bool? {
        let former = socketSession.caller
        guard former.map({ $0.user == signIn.user }) ?? true else { throw Self.userMismatch }
        if former == nil { try slots.acquire(signIn.user) }
        let connection: Connection
        do {
            connection = try await attach(signIn, socket, socketSession, replacing: former?.connection)
        } catch {
            if former == nil { slots.release(signIn.user) }
            throw error
        }
        if let former { delivery.detach(former.connection, succeededBy: connection) }
        socket.connection.setMaxPayload(payloadLimit)
        socket.connection.admit()
        let lifetime = signIn.ends?.timeIntervalSince(now())
        socketSession.end(socket, in: lifetime.map { .milliseconds(Int64(max(0, min($0, 1e9)) * 1_000)) })
        return connection.isComplete
    }

    private func attach(
        _ signIn: VerifiedSignIn,
        _ socket: Socket,
        _ socketSession: SocketSession,
        replacing former: Connection?
    ) async throws -> Connection {
        let connection = try await delivery.attach(
            socket,
            user: signIn.user,
            device: signIn.device.summary.serial,
            session: signIn.session,
            last: signIn.last,
            replacing: former
        )
        let caller = SocketCaller(user: signIn.user, device: signIn.device.summary.serial, connection: connection)
        guard socketSession.activate(caller) else {
            delivery.detach(connection)
            throw Self.socketClosed
        }
        return connection
    }

    /// Releases the slot and the connection of a closed socket.
    func leave(_ socketSession: SocketSession) {
        guard let caller = socketSession.leave() else { return }
        slots.release(caller.user)
        delivery.detach(caller.connection)
    }

    private static let userMismatch = APIError(
        .forbidden,
        "user_mismatch",
        "another user is signed in on this socket; open another socket"
    )
    private static let socketClosed = APIError.unavailable("the closed socket")
}

/// A sign-in with a verified credential.
struct VerifiedSignIn: Sendable {
    let user: User.ID
    let session: String
    let device: Device
    /// The end of the session; nil when auth announces it.
    let ends: Date?
    /// The newest change that the client has, by conversation; nil when the client does not state it.
    let last: [Conversation.ID: Int64]?
}

/// The response to `authenticate`: the device, and whether every new chat was announced.
struct SignedInDevice: Encodable, Sendable {
    private enum CodingKeys: CodingKey { case complete }

    let device: Device
    /// Nil when the client did not state what it has.
    let complete: Bool?

    func encode(to encoder: any Encoder) throws {
        try device.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(complete, forKey: .complete)
    }
}
