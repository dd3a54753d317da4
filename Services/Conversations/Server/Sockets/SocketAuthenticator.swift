import ConversationsAPI
import Credentials
import Foundation
import NIOCore
import SocketIO
import Wire

/// The rules of signing in by a socket: as one person, for as long as the session lasts, and hearing from then on what
/// happens.
struct SocketAuthenticator: Sendable {
    let verifier: CredentialVerifier
    let devices: Devices
    let slots: SocketLimit
    let delivery: Delivery
    /// Bytes that a packet may have from then on.
    let payloadLimit: Int
    let now: @Sendable () -> Date

    /// Finds out who a credential stands for.
    func verify(_ credential: SocketCredential) async throws -> VerifiedSignIn {
        let identity = try await verifier.identify(credential.token)
        var device = try await devices.signIn(by: identity)
        device.authToken = credential.token
        return VerifiedSignIn(
            user: identity.user,
            session: identity.session,
            device: device,
            // A jwt is renewed every hour; a session of a customer's account server ends when it was said to.
            ends: SessionToken.isWellFormed(credential.token) ? identity.expires : nil,
            last: credential.last
        )
    }

    /// Lets him in: from then on he hears what happens, may send more at once, and is asked for nothing else.
    ///
    /// Who sits there already may show a newer credential of his.
    ///
    /// - Returns: whether the client received every chat that it did not know; nil where it did not say what it knows.
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

    /// The socket is gone.
    func leave(_ socketSession: SocketSession) {
        guard let caller = socketSession.leave() else { return }
        slots.release(caller.user)
        delivery.detach(caller.connection)
    }

    private static let userMismatch = APIError(
        .forbidden,
        "user_mismatch",
        "somebody else is signed in here; open another socket"
    )
    private static let socketClosed = APIError.unavailable("a socket that is closed")
}

/// Somebody who has shown who he is.
struct VerifiedSignIn: Sendable {
    let user: User.ID
    let session: String
    let device: Device
    /// Nil: when auth says so.
    let ends: Date?
    /// The newest change that the client knows, by conversation; nil where the client does not say what it knows.
    let last: [Conversation.ID: Int64]?
}

/// The answer to `authenticate`: the device, and whether every new chat was announced.
struct SignedInDevice: Encodable, Sendable {
    private enum CodingKeys: CodingKey { case complete }

    let device: Device
    /// Nil where the client did not say what it knows.
    let complete: Bool?

    func encode(to encoder: any Encoder) throws {
        try device.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(complete, forKey: .complete)
    }
}
