import Foundation
import OAuth1
import Wire

/// An account of the AT Protocol according to its DID document.
struct BlueskyIdentity: Hashable, Sendable {
    var did: String
    /// The handle in the document; the handle itself may point to another account.
    var handle: String?
    /// The URL of the PDS with the account's data.
    var pds: String
}

/// The authorization server for the accounts of a PDS.
struct BlueskyServer: Hashable, Sendable {
    var issuer: String
    var pushing: String
    var page: String
    var tokens: String
    var revocation: String?
}

/// Finds the PDS and the authorization server of an account.
struct BlueskyDirectory: Sendable {
    let calls: NetworkCalls
    /// The URL of the server that resolves handles.
    let resolver: String
    /// The URL of the directory with the documents of `did:plc` accounts.
    let register: String

    /// Returns an account by its handle or DID.
    ///
    /// - Throws: `notFound` for a handle without an account; `invalid` for a handle that the account's document does not
    ///   name.
    func identity(of name: String) async throws -> BlueskyIdentity {
        if name.hasPrefix("did:") { return try await identity(did: name) }
        let handle = name.drop { $0 == "@" }.lowercased()
        guard handle.utf8.count <= 253,
            handle.wholeMatch(of: /([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*/) != nil
        else {
            throw NetworkError(.invalid, "a handle is a domain name such as alice.bsky.social", code: "invalid_handle")
        }
        let identity = try await identity(did: try await did(of: handle))
        // Any domain can point to any account, so the account's own document must name the handle.
        guard identity.handle?.lowercased() == handle else {
            throw NetworkError(
                .invalid,
                "the handle points to an account whose profile does not list this handle; use the account's own handle",
                code: "invalid_handle"
            )
        }
        return identity
    }

    private func did(of handle: String) async throws -> String {
        let url = "\(resolver)/xrpc/com.atproto.identity.resolveHandle".adding(["handle": handle])
        do {
            if let did = try await calls.json(.get(url)).json["did"]?.nonEmpty { return did }
        } catch let error as NetworkError where [.invalid, .notFound, .transient].contains(error.kind) {
            // The handle's own host is tried next.
        }
        // The error is ignored: without a response there is no DID, which is reported below.
        let response = try? await calls.send(.get("https://\(handle)/.well-known/atproto-did"))
        let did = response?.text.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard did.hasPrefix("did:"), did.utf8.count <= 2_048 else {
            throw NetworkError(.notFound, "there is no account with this handle", code: "invalid_handle")
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
            throw NetworkError(.invalid, "a DID must start with did:plc: or did:web:", code: "invalid_did")
        }
        let (document, _) = try await calls.json(.get(url))
        guard document["id"]?.text == did, let pds = Self.pds(document) else {
            throw NetworkError(.transient, "the account's DID document names no data server (PDS)")
        }
        let names = document["alsoKnownAs"].list.compactMap(\.text).filter { $0.hasPrefix("at://") }
        return BlueskyIdentity(did: did, handle: names.first.map { String($0.dropFirst(5)) }, pds: pds)
    }

    /// Returns the URL of the PDS in an account's document.
    static func pds(_ document: JSONValue?) -> String? {
        (document?["service"]).list
            .first { $0["id"]?.text?.hasSuffix("#atproto_pds") == true }
            .flatMap { $0["serviceEndpoint"]?.link }
            .map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// Returns the authorization server of a PDS: the one that it names, or the PDS itself (RFC 9728, RFC 8414).
    func server(of pds: String) async throws -> BlueskyServer {
        var issuer = pds
        do {
            let (resource, _) = try await calls.json(.get("\(pds)/.well-known/oauth-protected-resource"))
            issuer = resource["authorization_servers"].list.first?.link ?? pds
        } catch let error as NetworkError where error.kind == .notFound {
            // The PDS is its own authorization server, as bsky.social is.
        }
        return try await server(issuer: issuer)
    }

    /// Returns the metadata of an authorization server.
    func server(issuer: String) async throws -> BlueskyServer {
        let (metadata, _) = try await calls.json(.get("\(issuer)/.well-known/oauth-authorization-server"))
        guard metadata["issuer"]?.text == issuer else {
            throw NetworkError(
                .transient,
                "the issuer in the authorization server's metadata differs from the server's URL"
            )
        }
        guard let pushing = metadata["pushed_authorization_request_endpoint"]?.link,
            let page = metadata["authorization_endpoint"]?.link, let tokens = metadata["token_endpoint"]?.link,
            metadata["dpop_signing_alg_values_supported"].list.contains(.string("ES256"))
        else {
            throw NetworkError.unsupported("the authorization server must support pushed requests and DPoP with ES256")
        }
        return BlueskyServer(
            issuer: issuer,
            pushing: pushing,
            page: page,
            tokens: tokens,
            revocation: metadata["revocation_endpoint"]?.link
        )
    }
}
