import Foundation
import OAuth1
import Wire

/// Who an account of the AT Protocol is, by its own document.
struct BlueskyIdentity: Hashable, Sendable {
    var did: String
    /// As the document has it; nobody has said yet that it leads back here.
    var handle: String?
    /// Where its data is.
    var pds: String
}

/// Who lets applications act for the accounts of a PDS.
struct BlueskyServer: Hashable, Sendable {
    var issuer: String
    var pushing: String
    var page: String
    var tokens: String
    var revocation: String?
}

/// Finds out where an account is, and who grants access to it.
struct BlueskyDirectory: Sendable {
    let calls: NetworkCalls
    /// Who is asked for handles.
    let resolver: String
    /// The register of `did:plc`.
    let register: String

    /// An account by its handle or DID.
    ///
    /// - Throws: `notFound` for a handle of nobody; `invalid` for one that its account does not have.
    func identity(of name: String) async throws -> BlueskyIdentity {
        if name.hasPrefix("did:") { return try await identity(did: name) }
        let handle = name.drop { $0 == "@" }.lowercased()
        guard handle.utf8.count <= 253,
            handle.wholeMatch(of: /([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*/) != nil
        else { throw NetworkError(.invalid, "a handle is given like alice.bsky.social", code: "invalid_handle") }
        let identity = try await identity(did: try await did(of: handle))
        // A name that leads to somebody who does not bear it is not his.
        guard identity.handle?.lowercased() == handle else {
            throw NetworkError(.invalid, "the account does not have this handle", code: "invalid_handle")
        }
        return identity
    }

    private func did(of handle: String) async throws -> String {
        let url = "\(resolver)/xrpc/com.atproto.identity.resolveHandle".adding(["handle": handle])
        do {
            if let did = try await calls.json(.get(url)).json["did"]?.nonEmpty { return did }
        } catch let error as NetworkError where [.invalid, .notFound, .transient].contains(error.kind) {
            // Then its own host may say whose it is.
        }
        let said = try? await calls.send(.get("https://\(handle)/.well-known/atproto-did"))  // silence is an answer too
        let did = said?.text.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard did.hasPrefix("did:"), did.utf8.count <= 2_048 else {
            throw NetworkError(.notFound, "there is no account of this handle", code: "invalid_handle")
        }
        return did
    }

    private func identity(did: String) async throws -> BlueskyIdentity {
        let url: String
        if did.wholeMatch(of: /did:plc:[a-z2-7]{24}/) != nil {
            url = "\(register)/\(did)"
        } else if let host = did.wholeMatch(of: /did:web:([A-Za-z0-9.-]+)/)?.output.1 {
            url = "https://\(host)/.well-known/did.json"
        } else {
            throw NetworkError(.invalid, "a DID is did:plc or did:web", code: "invalid_did")
        }
        let (document, _) = try await calls.json(.get(url))
        guard document["id"]?.text == did, let pds = Self.pds(document) else {
            throw NetworkError(.transient, "the account's document does not say where its data is")
        }
        let names = document["alsoKnownAs"].list.compactMap(\.text).filter { $0.hasPrefix("at://") }
        return BlueskyIdentity(did: did, handle: names.first.map { String($0.dropFirst(5)) }, pds: pds)
    }

    /// Where an account's own document says that its data is.
    static func pds(_ document: JSONValue?) -> String? {
        (document?["service"]).list
            .first { $0["id"]?.text?.hasSuffix("#atproto_pds") == true }
            .flatMap { $0["serviceEndpoint"]?.link }
            .map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// Who grants access to a PDS: itself, or who it says (RFC 9728, RFC 8414).
    func server(of pds: String) async throws -> BlueskyServer {
        var issuer = pds
        do {
            let (resource, _) = try await calls.json(.get("\(pds)/.well-known/oauth-protected-resource"))
            issuer = resource["authorization_servers"].list.first?.link ?? pds
        } catch let error as NetworkError where error.kind == .notFound {
            // Then it is such a server itself, as bsky.social is.
        }
        return try await server(issuer: issuer)
    }

    /// What a server says of itself.
    func server(issuer: String) async throws -> BlueskyServer {
        let (said, _) = try await calls.json(.get("\(issuer)/.well-known/oauth-authorization-server"))
        guard said["issuer"]?.text == issuer else {
            throw NetworkError(.transient, "the account's server says that it is another")
        }
        guard let pushing = said["pushed_authorization_request_endpoint"]?.link,
            let page = said["authorization_endpoint"]?.link, let tokens = said["token_endpoint"]?.link,
            said["dpop_signing_alg_values_supported"].list.contains(.string("ES256"))
        else { throw NetworkError.unsupported("the account's server lets no applications in this way") }
        return BlueskyServer(
            issuer: issuer,
            pushing: pushing,
            page: page,
            tokens: tokens,
            revocation: said["revocation_endpoint"]?.link
        )
    }
}
