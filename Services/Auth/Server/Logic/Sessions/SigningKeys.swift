import AuthAPI
import Credentials
import Crypto
import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import ServiceLifecycle
import Wire

/// The keys that sign access tokens: a standby key, the current key, and previous keys that only verify.
///
/// A key is published long before it signs, so verifiers have it at a rotation. It stays published long after, so no
/// session ends. An instance notices another instance's rotation within seconds; until then it signs with a key that is
/// still published.
final class SigningKeys: Sendable, Service {
    /// Errors that only a damaged table causes.
    enum Failure: Error {
        case unknownState(String)
        case noCurrentKey
    }

    /// The interval of checks for rotations by other instances.
    private static let checkInterval: Duration = .seconds(5)

    private struct Ring {
        var kid: String
        var key: P256.Signing.PrivateKey
        var document: KeyDocument
    }

    private let database: PostgresPool
    private let encryptor: TokenEncryptor
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let ring: Lock<Ring?> = Lock(nil)

    init(database: PostgresPool, encryptor: TokenEncryptor, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.database = database
        self.encryptor = encryptor
        self.logger = logger
        self.now = now
    }

    /// The published keys, the current one first.
    var document: KeyDocument {
        get throws {
            guard let ring = ring.withLock({ $0 }) else { throw APIError.unavailable("the key document") }
            return ring.document
        }
    }

    /// Returns an access token with these claims, signed with the current key.
    func sign(_ claims: AccessToken.Claims) throws -> String {
        try sign(claims, type: AccessToken.type)
    }

    /// Returns a stream ticket with these claims, signed with the current key.
    func sign(_ claims: StreamTicket.Claims) throws -> String {
        try sign(claims, type: StreamTicket.type)
    }

    private func sign(_ claims: some Encodable, type: String) throws -> String {
        guard let ring = ring.withLock({ $0 }) else { throw APIError.unavailable("the signing key") }
        let encoder = WireJSON.encoder(sortedKeys: true)
        let header = try encoder.encode(["alg": AccessToken.algorithm, "kid": ring.kid, "typ": type])
        let input = "\(Base64URL.encode(header)).\(Base64URL.encode(try encoder.encode(claims)))"
        let signature = try ring.key.signature(for: Data(input.utf8))
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }

    /// Loads the keys, and creates the first ones if none exist.
    func load() async throws {
        var keys = try await SigningKeyStore(db: database).list()
        if keys.isEmpty {
            keys = try await database.transaction { db in
                let store = SigningKeyStore(db: db)
                try await store.lock()
                let existing = try await store.list()
                guard existing.isEmpty else { return existing }
                for state in [SigningKeyStore.State.current, .standby] {
                    try await store.insert(try self.make(state), at: self.now())
                }
                return try await store.list()
            }
        }
        try apply(keys)
    }

    /// Makes the standby key current, keeps the former current key for verification, and creates a new standby key.
    func rotate() async throws -> KeyRotation {
        let keys = try await database.transaction { db in
            let store = SigningKeyStore(db: db)
            try await store.lock()
            try await store.retireCurrent(at: self.now())
            try await store.promoteStandby()
            try await store.insert(try self.make(.standby), at: self.now())
            return try await store.list()
        }
        try apply(keys)
        let status = try Self.status(of: keys)
        logger.notice("signing keys rotated", metadata: ["kid": "\(status.current)"])
        return status
    }

    func status() async throws -> KeyRotation {
        try Self.status(of: try await SigningKeyStore(db: database.reads).list())
    }

    private static func status(of keys: [SigningKeyStore.Record]) throws -> KeyRotation {
        func kids(_ state: SigningKeyStore.State) -> [String] { keys.filter { $0.state == state }.map(\.kid) }
        guard let standby = kids(.standby).first, let current = kids(.current).first else { throw Failure.noCurrentKey }
        return KeyRotation(standby: standby, current: current, previous: kids(.previous))
    }

    /// Applies key changes of other instances until shutdown.
    func run() async {
        await PeriodicTask("signing key refresh", every: Self.checkInterval, logger: logger) {
            [self] in
            try apply(try await SigningKeyStore(db: database.reads).list())
        }.run()
    }

    private func apply(_ keys: [SigningKeyStore.Record]) throws {
        guard let current = keys.first(where: { $0.state == .current }) else { throw Failure.noCurrentKey }
        let document = KeyDocument(keys)
        let isUnchanged = ring.withLock { ring in
            guard ring?.kid == current.kid else { return false }
            ring?.document = document
            return true
        }
        guard !isUnchanged else { return }
        let opened = try encryptor.open(current.encryptedPrivateKey, for: Self.owner(of: current.kid))
        let key = try P256.Signing.PrivateKey(rawRepresentation: opened)
        ring.withLock { $0 = Ring(kid: current.kid, key: key, document: document) }
    }

    private func make(_ state: SigningKeyStore.State) throws -> SigningKeyStore.Record {
        let key = P256.Signing.PrivateKey()
        let kid = Self.thumbprint(of: key.publicKey.x963Representation)
        return SigningKeyStore.Record(
            kid: kid,
            state: state,
            publicKey: key.publicKey.x963Representation,
            encryptedPrivateKey: try encryptor.seal(key.rawRepresentation, for: Self.owner(of: kid))
        )
    }

    private static func owner(of kid: String) -> String { "signing_keys/\(kid)" }

    /// Returns the RFC 7638 thumbprint: the hash of the key's required members, in order.
    private static func thumbprint(of publicKey: Data) -> String {
        let (x, y) = publicKey.coordinates
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Base64URL.encode(Data(SHA256.hash(data: Data(members.utf8))))
    }
}

extension KeyDocument {
    init(_ keys: [SigningKeyStore.Record]) {
        let sorted = keys.filter { $0.state == .current } + keys.filter { $0.state != .current }
        self.init(
            keys: sorted.map { key in
                let (x, y) = key.publicKey.coordinates
                return Key(x: x, y: y, kid: key.kid)
            }
        )
    }
}

extension Data {
    /// The two coordinates of a P-256 point in X9.63 format, each as base64url.
    fileprivate var coordinates: (x: String, y: String) {
        (Base64URL.encode(dropFirst().prefix(32)), Base64URL.encode(suffix(32)))
    }
}
