import HTTPTypes
import Hummingbird
import NIOCore
import ServiceHost
import SocialAPI
import Wire

/// The routes of `/networks`: linking accounts by tokens or through the networks' consent pages.
struct NetworkRoutes {
    let linking: Linking
    let authorizations: Authorizations
    let encryption: TokenEncryption

    func add(to routes: SuiteRoutes) {
        routes.user.get("networks", use: list)
        routes.user.get("networks/keys", use: keys)
        routes.user.put("networks/:network", use: link)
        routes.user.delete("networks/:network", use: unlink)
        routes.user.post("networks/:network/authorize", use: authorize)
        routes.open.get("networks/:network/callback", use: callback)
        routes.open.get("networks/:network/client-metadata.json", use: document)
        routes.user.post("networks/:network/complete", use: complete)
    }

    func list(request: Request, context: UserContext) async throws -> Page<NetworkStatus> {
        try await linking.list(of: context.user)
    }

    /// Returns the public key with which clients may encrypt tokens.
    func keys(request: Request, context: UserContext) async throws -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/jwk-set+json", .cacheControl: "private, max-age=300"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encryption.document.compact()))
        )
    }

    func link(request: Request, context: UserContext) async throws -> JSONResponse<NetworkStatus> {
        let network = try context.network()
        let draft = try await request.decode(as: LinkDraft.self, context: context)
        return JSONResponse(try await linking.link(draft, to: network, for: context.user))
    }

    func unlink(request: Request, context: UserContext) async throws -> JSONResponse<NetworkStatus> {
        JSONResponse(try await linking.unlink(context.network(), of: context.user))
    }

    func authorize(request: Request, context: UserContext) async throws -> JSONResponse<AuthorizationPage> {
        let network = try context.network()
        let draft = try await request.decode(as: AuthorizationDraft.self, context: context)
        return JSONResponse(try await authorizations.begin(draft, on: network, by: context.identity))
    }

    func callback(request: Request, context: SuiteContext) async throws -> Response {
        let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        let parameters = Dictionary(query) { first, _ in first }
        let url = try await authorizations.handleCallback(from: context.network(), with: parameters)
        // The URL contains the one-time code, so it must not be cached or sent to other sites.
        return Response(
            status: .found,
            headers: [.location: url, .cacheControl: "no-store", .referrerPolicy: "no-referrer"]
        )
    }

    func document(request: Request, context: SuiteContext) async throws -> Response {
        let document = try authorizations.document(of: context.network()).compact()
        return Response(
            status: .ok,
            headers: [.contentType: "application/json", .cacheControl: "public, max-age=600"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: document))
        )
    }

    func complete(request: Request, context: UserContext) async throws -> JSONResponse<NetworkStatus> {
        let network = try context.network()
        let code = try await request.decode(as: AuthorizationCode.self, context: context).code
        return JSONResponse(try await authorizations.complete(code, on: network, by: context.identity))
    }
}

extension RequestContext {
    func network() throws -> Network {
        guard let network = Network(named: try path("network")) else {
            throw APIError(.notFound, "network_not_found", "there is no such network")
        }
        return network
    }
}
