import Crypto
import Foundation
import Locks
import NIOHTTP1
import Wire

/// Validates requests with an OAuth 1.0a signature by HMAC-SHA1 (RFC 5849), and stores the nonces of accepted requests.
final class OAuth1Validator: Sendable {
    enum Violation: Error {
        /// The request has no signature, or one of another method.
        case unsigned
        case timestamp
        case consumer
        case token
        case signature
        case replayed
    }

    /// A request token, before and after the person approves it.
    struct RequestToken: Sendable {
        let secret: String
        let callback: String
        let expiry: Date
        var person: Int?
        var verifier: String?
    }

    struct SignedRequest: Sendable {
        let token: String?
        let verifier: String?
        let callback: String?
    }

    private struct State {
        var nonces: [String: Date] = [:]
        var requestTokens: [String: RequestToken] = [:]
    }

    private static let skew: TimeInterval = 300

    private let key: String
    private let secret: String
    private let grants: Grants
    private let clock: SandboxClock
    private let state = Lock(State())

    init(key: String, secret: String, grants: Grants, clock: SandboxClock) {
        self.key = key
        self.secret = secret
        self.grants = grants
        self.clock = clock
    }

    // MARK: The three legs

    func createRequestToken(callback: String) -> (token: String, secret: String) {
        let (token, secret) = (Base64URL.random(bytes: 20), Base64URL.random(bytes: 30))
        let requestToken = RequestToken(secret: secret, callback: callback, expiry: clock.now + 600)
        state.withLock { $0.requestTokens[token] = requestToken }
        return (token, secret)
    }

    func requestToken(_ token: String) -> RequestToken? {
        state.withLock { $0.requestTokens[token] }.flatMap { $0.expiry > clock.now ? $0 : nil }
    }

    func approve(_ token: String, _ person: Person) -> String? {
        let verifier = Base64URL.random(bytes: 20)
        return state.withLock { state in
            guard state.requestTokens[token] != nil else { return nil }
            state.requestTokens[token]?.person = person.number
            state.requestTokens[token]?.verifier = verifier
            return verifier
        }
    }

    /// Redeems an approved request token, once, and returns the person's number.
    func redeem(_ token: String, verifier: String) -> Int? {
        state.withLock { state in
            guard let requestToken = state.requestTokens[token], requestToken.verifier == verifier,
                requestToken.expiry > clock.now
            else {
                return nil
            }
            state.requestTokens[token] = nil
            return requestToken.person
        }
    }

    // MARK: Signatures

    static func isSigned(_ request: NetworkRequest) -> Bool {
        request.headers.first(name: "authorization")?.prefix(6).lowercased() == "oauth "
    }

    func validate(_ request: NetworkRequest) throws(Violation) -> SignedRequest {
        guard Self.isSigned(request), let header = request.headers.first(name: "authorization") else { throw .unsigned }
        var fields: [String: String] = [:]
        for part in header.dropFirst(6).split(separator: ",") {
            let pair = part.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[1].hasPrefix("\""), pair[1].hasSuffix("\"") else { throw .unsigned }
            let value = String(pair[1].dropFirst().dropLast())
            fields[String(pair[0]).removingPercentEncoding ?? ""] = value.removingPercentEncoding ?? value
        }
        guard fields["oauth_signature_method"] == "HMAC-SHA1", fields["oauth_version"] ?? "1.0" == "1.0",
            let signature = fields["oauth_signature"], let nonce = fields["oauth_nonce"], !nonce.isEmpty
        else { throw .unsigned }
        guard let time = fields["oauth_timestamp"].flatMap({ Double($0) }),
            abs(time - clock.now.timeIntervalSince1970) <= Self.skew
        else { throw .timestamp }
        guard fields["oauth_consumer_key"] == key else { throw .consumer }
        let token = fields["oauth_token"]
        let tokenSecret = try secret(of: token)
        let expected = sign(base(of: request, fields), tokenSecret: tokenSecret)
        guard signature == expected else { throw .signature }
        try consumeNonce("\(time) \(token ?? "") \(nonce)")
        return SignedRequest(token: token, verifier: fields["oauth_verifier"], callback: fields["oauth_callback"])
    }

    private func secret(of token: String?) throws(Violation) -> String {
        guard let token, !token.isEmpty else { return "" }
        if let requestToken = requestToken(token) { return requestToken.secret }
        guard case .valid(let grant) = grants.find(token), let secret = grant.secret else { throw .token }
        return secret
    }

    private func consumeNonce(_ nonce: String) throws(Violation) {
        let now = clock.now
        let isNew = state.withLock { state in
            if state.nonces.count > 50_000 { state.nonces = state.nonces.filter { $0.value > now } }
            return state.nonces.updateValue(now + 2 * Self.skew, forKey: nonce) == nil
        }
        guard isNew else { throw .replayed }
    }

    /// Returns the signature base string (RFC 5849, section 3.4.1).
    private func base(of request: NetworkRequest, _ fields: [String: String]) -> String {
        let isForm =
            request.headers.first(name: "content-type")?.lowercased()
            .hasPrefix("application/x-www-form-urlencoded") ?? false
        let signed = fields.filter { $0.key != "oauth_signature" && $0.key != "realm" }.map { ($0.key, $0.value) }
        let all = request.query.map { ($0.name, $0.value) } + (isForm ? request.form.map { ($0.name, $0.value) } : [])
        let encoded = (all + signed).map { (PercentCoding.encode($0.0), PercentCoding.encode($0.1)) }
        let sorted = encoded.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 < $1.0 }
        let parameters = sorted.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        return [request.method.rawValue, request.url, parameters].map(PercentCoding.encode).joined(separator: "&")
    }

    private func sign(_ base: String, tokenSecret: String) -> String {
        let key = SymmetricKey(data: Data("\(PercentCoding.encode(secret))&\(PercentCoding.encode(tokenSecret))".utf8))
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(base.utf8), using: key)
        return Data(code).base64EncodedString()
    }
}
