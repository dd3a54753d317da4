import Credentials
import HTTPTypes
import Hummingbird
import Wire

/// The middleware that reads a request's credential.
///
/// Open routes ignore an invalid credential, because apps send expired credentials when they refresh them. They also
/// ignore the credential of an application's server.
struct ReadCredential: RouterMiddleware {
    typealias Context = SuiteContext

    let verifier: CredentialVerifier
    let isRequired: Bool

    func handle(
        _ request: Request,
        context: SuiteContext,
        next: (Request, SuiteContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if isRequired {
            context.identity = try await verifier.identity(of: request.headers, allowingServer: true)
        } else if request.headers.contains(.authorization) || request.headers.contains(.diuitSession) {
            context.identity = try? await verifier.identity(of: request.headers)
        }
        return try await next(request, context)
    }
}

/// The middleware that reads the service token of an internal request; without a valid token the request receives 403.
struct ReadServiceToken: RouterMiddleware {
    typealias Context = InternalContext

    let tokens: ServiceTokens

    func handle(
        _ request: Request,
        context: InternalContext,
        next: (Request, InternalContext) async throws -> Response
    ) async throws -> Response {
        guard case .bearer(let token) = try Credential(request.headers) else {
            throw APIError(.forbidden, "authentication_required", "this route requires a service token")
        }
        var context = context
        context.caller = try tokens.caller(of: token)
        return try await next(request, context)
    }
}

/// The middleware that admits only the listed callers.
struct RequireCaller: RouterMiddleware {
    typealias Context = InternalContext

    let callers: Set<InternalCaller>

    func handle(
        _ request: Request,
        context: InternalContext,
        next: (Request, InternalContext) async throws -> Response
    ) async throws -> Response {
        guard let caller = InternalCaller(rawValue: context.caller), callers.contains(caller) else {
            throw APIError(.forbidden, "caller_not_allowed", "this service may not call this route")
        }
        return try await next(request, context)
    }
}
