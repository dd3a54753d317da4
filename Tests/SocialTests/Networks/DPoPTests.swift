import Crypto
import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("DPoP and client metadata") struct DPoPTests {
    private let network = RecordedNetwork()
    private let key = DPoPKey()

    private func http(_ token: String? = "token") -> DPoPHTTP {
        DPoPHTTP(http: network, key: key, token: token, nonces: DPoPNonces(), now: { testNow })
    }

    private static let feed = "GET https://pds/xrpc/feed"
    private var request: NetworkRequest { NetworkRequest(.get, "https://pds/xrpc/feed?limit=1").bearer("token") }

    @Test("A proof has the method, URL and token hash of its request")
    func proof() async throws {
        network.answer(Self.feed)

        _ = try await http().send(request)

        let sent = try #require(network.last)
        #expect(sent.header("authorization") == "DPoP token")
        let proof = try Token(sent.header("DPoP") ?? "", of: nil)
        #expect(proof.header["typ"]?.text == "dpop+jwt")
        #expect(proof.header["jwk"]?["d"] == nil)
        #expect(proof.claims["htm"]?.text == "GET")
        #expect(proof.claims["htu"]?.text == "https://pds/xrpc/feed")
        #expect(proof.claims["iat"]?.whole == 1_795_000_000)
        #expect(proof.claims["nonce"] == nil)
        // SHA-256 of "token", base64url.
        #expect(proof.claims["ath"]?.text == "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A")
    }

    @Test("A request is repeated once with the server's nonce")
    func nonce() async throws {
        let wanted = #"{"error":"use_dpop_nonce","error_description":"nonce"}"#
        network.answer(Self.feed, 400, wanted, ["DPoP-Nonce": "n1"])
        network.answer(Self.feed, 200, "{}", ["DPoP-Nonce": "n2"])
        network.answer(Self.feed, 401, "{}", ["DPoP-Nonce": "n3", "WWW-Authenticate": #"DPoP error="use_dpop_nonce""#])
        network.answer(Self.feed, 401, wanted, ["DPoP-Nonce": "n4"])
        let http = http()

        let first = try await http.send(request)
        let second = try await http.send(request)

        let nonces = try network.asked.map { try Token($0.header("DPoP") ?? "", of: nil).claims["nonce"]?.text }
        #expect(nonces == [nil, "n1", "n2", "n3"])
        // A request is sent at most twice, even if the server asks for another nonce.
        #expect(first.status == 200)
        #expect(second.status == 401)
    }

    @Test("A rejected proof is a transient error, and a revoked grant is not")
    func invalidProof() async throws {
        let server = "https://pds/oauth/token"
        let details = [
            "tokens": server, "issuer": "https://pds", "callback": "https://roost/networks/bluesky/callback",
        ]
        let tokens = NetworkTokens(access: "a", refresh: "r", others: ["dpop": key.text])
        let account = NetworkAccount.ann(id: "did:plc:me", tokens, details: details)
        let bluesky = BlueskyConnector(ConnectorParts(network, "https://pds", secret: nil), pause: noPause)
        network.answer("POST \(server)", 400, #"{"error":"invalid_dpop_proof","error_description":"iat"}"#)
        network.answer("POST \(server)", 503, "<html></html>")
        network.answer("POST \(server)", 401, #"{"error":"invalid_client"}"#)
        network.answer("POST \(server)", 200, #"{"access_token":"b","token_type":"Bearer"}"#)
        network.answer("POST \(server)", 400, #"{"error":"invalid_grant","error_description":"over"}"#)

        var kinds: [NetworkError.Class?] = []
        for _ in 0..<5 { kinds.append(await failure { try await bluesky.renew(account) }?.kind) }

        #expect(kinds == [.transient, .transient, .permission, .transient, .auth])
        #expect(network.asked.allSatisfy { $0.header("authorization") == nil })
        #expect(network.last?.form("client_id") == "app")
        #expect(network.last?.form("client_assertion") == nil)
    }

    // MARK: The client

    private static let callback = "https://roost.example/networks/bluesky/callback"

    @Test("The client metadata describes a public client without a key")
    func clientMetadata() throws {
        let client = try BlueskyOAuthClient(callback: Self.callback, ApplicationKey(baseURL: ""))

        let document = try #require(try client.metadata)

        #expect(client.id == "https://roost.example/networks/bluesky/client-metadata.json")
        #expect(document["client_id"]?.text == client.id)
        #expect(document["dpop_bound_access_tokens"] == .bool(true))
        #expect(document["redirect_uris"] == .array([.string(Self.callback)]))
        #expect(document["token_endpoint_auth_method"]?.text == "none")
        #expect(document["jwks"] == nil)
        #expect(document["scope"]?.text == "atproto transition:generic transition:chat.bsky")
    }

    @Test("A client with a key authenticates with a signed assertion")
    func confidentialClient() throws {
        let secret = P256.Signing.PrivateKey()
        let application = ApplicationKey(baseURL: "", secret: secret.pemRepresentation)
        let client = try BlueskyOAuthClient(callback: Self.callback, application)

        let document = try #require(try client.metadata)
        let fields = try client.fields(for: "https://pds", now: testNow)

        let key = try #require(document["jwks"]?["keys"].list.first)
        #expect(document["token_endpoint_auth_method"]?.text == "private_key_jwt")
        #expect(key["d"] == nil)
        let assertion = try Token(fields["client_assertion"] ?? "", of: secret.publicKey)
        #expect(assertion.header["kid"] == key["kid"])
        #expect(key["kid"]?.text?.count == 43)
        #expect(assertion.claims["iss"]?.text == client.id)
        #expect(assertion.claims["sub"]?.text == client.id)
        #expect(assertion.claims["aud"]?.text == "https://pds")
        #expect(assertion.claims["exp"]?.whole == 1_795_000_060)
    }

    @Test("A client on the loopback address has no metadata, and HTTP elsewhere is rejected")
    func loopbackClient() throws {
        let here = "http://127.0.0.1:8080/networks/bluesky/callback"
        let client = try BlueskyOAuthClient(callback: here, ApplicationKey(baseURL: "", id: "other"))

        #expect(client.id.hasPrefix("http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%3A8080%2F"))
        #expect(try client.metadata == nil)
        #expect(throws: NetworkError.self) {
            try BlueskyOAuthClient(
                callback: "http://roost.example/networks/bluesky/callback",
                ApplicationKey(baseURL: "")
            )
        }
    }

    @Test("A DPoP key that was saved as text can be restored from the text")
    func keyRoundTrip() throws {
        #expect(DPoPKey(text: key.text)?.text == key.text)
        #expect(DPoPKey(text: "not a key") == nil)
        #expect(DPoPKey(text: "AAAA") == nil)
    }
}

/// A JSON Web Token with a valid signature.
private struct Token {
    let header: JSONValue
    let claims: JSONValue

    /// Checks the signature with the given key or with the key in the header.
    init(_ text: String, of key: P256.Signing.PublicKey?) throws {
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        header = try JSONParser.parse(try #require(Base64URL.decode(parts[0])))
        claims = try JSONParser.parse(try #require(Base64URL.decode(parts[1])))
        let point = ["x", "y"].compactMap { header["jwk"]?[$0]?.text }.compactMap { Base64URL.decode($0) }
        let key = try key ?? P256.Signing.PublicKey(rawRepresentation: point.reduce(Data(), +))
        let bytes = try #require(Base64URL.decode(parts[2]))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
        #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }
}
