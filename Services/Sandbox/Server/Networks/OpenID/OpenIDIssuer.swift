import Crypto
import CryptoExtras
import Foundation
import Locks
import NIOHTTP1
import Wire

/// An OpenID Connect provider that behaves as Google or as Apple, whose rules for clients and requests differ.
final class OpenIDIssuer: FakeNetwork {
    enum Kind: Sendable {
        case google
        /// Apple, with the developer accounts whose keys sign client secrets.
        case apple(DeveloperAccounts)
    }

    let service: SandboxService
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let kind: Kind

    private struct State {
        var profiles: [Int: IdentityProfile] = [:]
        /// The registered redirect addresses; while there are none, every address is valid.
        var redirects: Set<String> = []
        var key: SigningKey?
        var revoked: [String] = []
        /// The people whose name Apple has already disclosed to the app.
        var named: Set<Int> = []
    }

    struct SigningKey: Sendable {
        var id: String
        var key: _RSA.Signing.PrivateKey
    }

    private let state = Lock(State())

    init(_ service: SandboxService, _ kind: Kind, _ parts: NetworkParts) {
        self.service = service
        self.kind = kind
        clock = parts.clock
        community = parts.community(offset: 0, ids: .serial(from: 108_000_000_000_000_000, step: 11))
        grants = Grants(clock: parts.clock)
    }

    var isApple: Bool { if case .apple = kind { true } else { false } }

    func issuer(at origin: String) -> String { "\(origin)/\(service.rawValue)" }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            grants.put(
                token,
                Grants.Grant(person: person.number, app: clientID, scopes: ["openid", "email", "profile"])
            )
        }
        return NetworkAccount(name: person.name, id: subject(of: person), accessToken: token)
    }

    /// Returns the subject id of a person, which is a number at Google and has three parts at Apple.
    func subject(of person: Person) -> String {
        isApple ? "000123.\(person.stableKey).0831" : "1080\(person.id)0018273645"
    }

    func profile(of person: Person) -> IdentityProfile {
        let own = state.withLock { $0.profiles[person.number] }
        return own ?? IdentityProfile(email: "\(person.name)@\(isApple ? "icloud.com" : "gmail.com")")
    }

    func set(_ profile: IdentityProfile, of person: Person) { state.withLock { $0.profiles[person.number] = profile } }

    func register(_ redirects: Set<String>) { state.withLock { $0.redirects = redirects } }

    func isRegistered(_ redirect: String) -> Bool {
        let registered = state.withLock { $0.redirects }
        return registered.isEmpty ? redirect.contains("://") && !redirect.contains("#") : registered.contains(redirect)
    }

    func revoked(_ token: String) { state.withLock { $0.revoked.append(token) } }

    var revocations: [String] { state.withLock { $0.revoked } }

    /// Records that the app receives a person's name, or returns false when it already did, because Apple discloses it
    /// once.
    func isFirstNameDisclosure(of person: Int) -> Bool { state.withLock { $0.named.insert(person).inserted } }

    // MARK: Keys

    /// The first signing key, which all providers share and the first use creates, because creating an RSA key is slow.
    private static let firstKey = Result { try makeKey() }

    func signingKey() throws -> SigningKey {
        try state.withLock { try $0.key ?? Self.firstKey.get() }
    }

    /// Replaces the signing key, and removes the previous key from the key document.
    func rotateKey() throws {
        let made = try Self.makeKey()
        state.withLock { $0.key = made }
    }

    private static func makeKey() throws -> SigningKey {
        SigningKey(id: Base64URL.random(bytes: 15), key: try _RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        guard request.path == ["userinfo"] else { return nil }
        do {
            return try request.bearer.map { try caller(token: $0) }
        } catch {
            throw NetworkErrorResponse(.jsonValue(["error": "invalid_token"], .unauthorized), "invalid_token")
        }
    }

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? { nil }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders { [:] }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited: .jsonValue(["error": "rate_limit_exceeded"], .tooManyRequests)
        case .unavailable(let status): .jsonValue(["error": "server_error"], HTTPResponseStatus(statusCode: status))
        case .expired: .jsonValue(["error": "invalid_token"], .unauthorized)
        case .other(let status, let reason):
            .jsonValue(["error": .string(reason)], HTTPResponseStatus(statusCode: status))
        case .notFound: .jsonValue(["error": "not_found"], .notFound)
        }
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        switch (request.method, request.path.joined(separator: "/")) {
        case (.GET, ".well-known/openid-configuration"): .response(.jsonValue(document(at: request.origin)))
        case (.GET, "certs"): .response(.jsonValue(try keyDocument()))
        case (.GET, "authorize"), (.POST, "authorize"): .response(authorize(request))
        case (.POST, "token"): .response(token(request))
        case (.POST, "revoke"): .response(revoke(request))
        case (.GET, "userinfo"): .response(try userInfo(caller, at: request.origin))
        default: .response(errorResponse(.notFound, of: request))
        }
    }

    private func document(at origin: String) -> JSONValue {
        let issuer = issuer(at: origin)
        let subjects: JSONValue = isApple ? ["pairwise"] : ["public"]
        let scopes: JSONValue = isApple ? ["openid", "email", "name"] : ["openid", "email", "profile"]
        let methods: JSONValue = isApple ? ["client_secret_post"] : ["client_secret_post", "client_secret_basic"]
        let endpoints: JSONValue = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
            "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/certs"),
            "revocation_endpoint": .string("\(issuer)/revoke"), "userinfo_endpoint": .string("\(issuer)/userinfo"),
        ]
        return endpoints.with([
            "response_types_supported": ["code"], "subject_types_supported": subjects,
            "id_token_signing_alg_values_supported": ["RS256"], "scopes_supported": scopes,
            "token_endpoint_auth_methods_supported": methods, "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": .bool(!isApple),
        ])
    }

    private func userInfo(_ caller: Caller?, at origin: String) throws -> WebResponse {
        guard let caller else { return .jsonValue(["error": "invalid_request"], .unauthorized) }
        var claims = claims(of: caller.person, for: caller.app, at: origin)
        for name in ["iss", "aud", "azp", "iat", "exp"] { claims[name] = nil }
        return .jsonValue(.object(claims))
    }
}
