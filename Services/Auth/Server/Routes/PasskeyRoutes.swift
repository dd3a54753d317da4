import AuthAPI
import Hummingbird
import ServiceHost
import WebAuthn
import Wire

/// Serves `/auth/passkeys` and `/auth/login/passkey`.
struct PasskeyRoutes {
    let passkeys: Passkeys
    let signIns: SignIns
    let clientInfo: ClientInfoReader

    /// The fields that a client sends next to the browser's WebAuthn response.
    private struct ExtraFields: Decodable {
        var name: String?
        var deviceId: String?
    }

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/passkeys/options", use: options)
        routes.user.post("auth/passkeys", use: create)
        routes.user.get("auth/passkeys", use: list)
        routes.user.delete("auth/passkeys/{id}", use: remove)
        routes.open.post("auth/login/passkey/options", use: loginOptions)
        routes.open.post("auth/login/passkey", use: login)
    }

    func options(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decodeOptional(as: PasskeyOptionsDraft.self, context: context)
        return try .secret(await passkeys.options(draft ?? PasskeyOptionsDraft(), by: context.identity))
    }

    func create(request: Request, context: UserContext) async throws -> JSONResponse<Passkey> {
        var request = request
        _ = try await request.collectBody(upTo: context.maxUploadSize)
        let response = try await request.decode(as: RegistrationResponse.self, context: context)
        let extraFields = try await request.decode(as: ExtraFields.self, context: context)
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        return JSONResponse(
            try await passkeys.add(response, named: extraFields.name, by: context.identity, from: caller)
        )
    }

    func list(request: Request, context: UserContext) async throws -> Page<Passkey> {
        try await passkeys.list(of: context.user)
    }

    func remove(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        try await passkeys.remove(context.path("id"), by: context.identity, from: caller)
        return JSONResponse(Done())
    }

    func loginOptions(request: Request, context: SuiteContext) async throws -> Response {
        try .secret(passkeys.requestOptions())
    }

    func login(request: Request, context: SuiteContext) async throws -> Response {
        var request = request
        _ = try await request.collectBody(upTo: context.maxUploadSize)
        let response = try await request.decode(as: AuthenticationResponse.self, context: context)
        let device = try await request.decode(as: ExtraFields.self, context: context).deviceId
        return try .secret(await signIns.login(response, on: device, from: clientInfo.caller(of: request, context)))
    }
}
