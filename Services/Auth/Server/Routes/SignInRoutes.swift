import AuthAPI
import Credentials
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/anonymous`, `/auth/login`, `/auth/refresh` and `/auth/logout`.
struct SignInRoutes {
    let signIns: SignIns
    let sessions: Sessions
    /// Whose `X-Forwarded-For` is believed.
    let gateway: AddressRanges

    func add(to routes: SuiteRoutes) {
        routes.open.post("auth/anonymous", use: anonymous)
        routes.open.post("auth/login", use: login)
        routes.open.post("auth/refresh", use: refresh)
        routes.user.post("auth/logout", use: logout)
    }

    func anonymous(request: Request, context: SuiteContext) async throws -> Response {
        var request = request
        let isEmpty = try await request.collectBody(upTo: context.maxUploadSize).readableBytes == 0
        let draft = try await isEmpty ? AnonymousDraft() : request.decode(as: AnonymousDraft.self, context: context)
        let caller = caller(of: request, context)
        return try .secret(await signIns.anonymous(draft, by: context.identity?.user, from: caller))
    }

    func login(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: LoginDraft.self, context: context)
        return try .secret(await signIns.login(draft, from: caller(of: request, context)))
    }

    func refresh(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: RefreshDraft.self, context: context)
        return try .secret(await sessions.refresh(draft))
    }

    func logout(request: Request, context: UserContext) async throws -> Reply<Done> {
        try await sessions.logout(context.identity)
        return Reply(Done())
    }

    private func caller(of request: Request, _ context: SuiteContext) -> Caller {
        let peer = context.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        // The gateway names the client last; what a client wrote before it counts for nothing. A peer without an
        // address is on this machine.
        let forwarded = request.headers[values: .forwardedFor].last?.split(separator: ",").last
            .flatMap { IPAddress($0.drop { $0 == " " }) }
        let isGateway = peer.map(gateway.contains) ?? true
        let userAgent = request.headers[.userAgent].map { text in
            String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isControl }.prefix(255)))
        }
        return Caller(
            address: isGateway ? forwarded ?? peer : peer,
            userAgent: userAgent.flatMap { $0.isEmpty ? nil : $0 }
        )
    }
}

extension Response {
    /// An answer that nobody on the way may keep (RFC 6749, section 5.1).
    fileprivate static func secret(_ value: some Encodable) throws -> Response {
        var response = try Response.json(value)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
