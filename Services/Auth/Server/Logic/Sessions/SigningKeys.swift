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

/// The keys that sign access tokens: one stands by, one signs, and those before it verify what they signed.
///
/// A key is published long before it signs, so a rotation surprises no verifier, and long after, so it ends no session.
/// Another instance's rotation is noticed within seconds; until then this one signs with a key that is still published.
final class SigningKeys: Sendable, Service {
    /// What is wrong with the table.
    enum Failure: Error {
        case unknownState(String)
        case noCurrentKey
    }

    /// How often another instance's rotation is looked for.
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

    /// The published keys: the current one first.
    var document: KeyDocument {
        get throws {
            guard let ring = ring.withLock({ $0 }) else { throw APIError.unavailable("the key document") }
            return ring.document
        }
    }

    /// An access token of these claims, signed by the current key.
    func sign(_ claims: AccessToken.Claims) throws -> String {
        try sign(claims, type: AccessToken.type)
    }

    /// Returns a stream ticket of these claims, signed by the current key.
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

    /// Reads the keys, making the first ones where there are none.
    func load() async throws {
        var keys = try await SigningKeyStore(db: database).list()
        if keys.isEmpty {
            keys = try await database.transaction { db in
                let store = SigningKeyStore(db: db)
                try await store.lock()
                let made = try await store.list()
                guard made.isEmpty else { return made }
                for state in [SigningKeyStore.State.current, .standby] {
                    try await store.insert(try self.make(state), at: self.now())
                }
                return try await store.list()
            }
        }
        try apply(keys)
    }

    /// Lets the standby key sign, keeps the current one for what it signed, and makes a new one stand by.
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

    /// Which key does what.
    func status() async throws -> KeyRotation {
        try Self.status(of: try await SigningKeyStore(db: database.reads).list())
    }

    private static func status(of keys: [SigningKeyStore.Record]) throws -> KeyRotation {
        func kids(_ state: SigningKeyStore.State) -> [String] { keys.filter { $0.state == state }.map(\.kid) }
        guard let standby = kids(.standby).first, let current = kids(.current).first else { throw Failure.noCurrentKey }
        return KeyRotation(standby: standby, current: current, previous: kids(.previous))
    }

    /// Notices what other instances do to the keys, until the service is shut down.
    func run() async {
        await PeriodicTask("look for another instance's rotation", every: Self.checkInterval, logger: logger) {
            [self] in
            try apply(try await SigningKeyStore(db: database.reads).list())
        }.run()
    }

    private func apply(_ keys: [SigningKeyStore.Record]) throws {
        guard let current = keys.first(where: { $0.state == .current }) else { throw Failure.noCurrentKey }
        let document = KeyDocument(keys)
        let isKnown = ring.withLock { ring in
            guard ring?.kid == current.kid else { return false }
            ring?.document = document
            return true
        }
        guard !isKnown else { return }
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

    /// RFC 7638: the hash of the key's required members, in order.
    private static func thumbprint(of publicKey: Data) -> String {
        let (x, y) = publicKey.coordinates
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Base64URL.encode(Data(SHA256.hash(data: Data(members.utf8))))
    }
}

extension KeyDocument {
    /// The current key first.
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
    /// The two halves of an X9.63 point of P-256, each as base64url.
    fileprivate var coordinates: (x: String, y: String) {
        (Base64URL.encode(dropFirst().prefix(32)), Base64URL.encode(suffix(32)))
    }
}
