import AuthAPI
import Credentials
import PushAPI
import ServiceClient
import Wire

extension ServiceClient {
    static func ofOperator(_ service: String, _ options: WorkspaceOptions) throws -> ServiceClient {
        let settings = try SuiteSettings(workspace: try options.workspace())
        guard let key = settings.secret(ServiceKeys.setting(of: "roost")) else {
            throw Workspace.Problem("ROOST_SERVICE_KEY is not set and .roost/secrets.env does not have it")
        }
        let keys = try ServiceKeys(privateKeys: key, publicKeys: try settings.servicePublicKeys(), name: "roost")
        let tokens = ServiceTokens(keys: keys)
        let addresses = SuiteProgram.all.flatMap { $0.name == service ? settings.addresses(of: $0) : [] }
        return ServiceClient(
            callee: service,
            transport: HTTPTransport(baseURLs: addresses),
            authorization: { "Bearer \(try tokens.token(for: service))" }
        )
    }
}

/// Makes a call to a service; an error that the service reports ends the command with the error's message.
func reportingErrors<Response>(of call: () async throws -> Response) async throws -> Response {
    do {
        return try await call()
    } catch let error as APIError {
        throw Workspace.Problem(error.message)
    }
}

extension AuthClient {
    static func ofOperator(_ options: WorkspaceOptions) throws -> AuthClient {
        AuthClient(try ServiceClient.ofOperator("auth", options))
    }
}

extension PushClient {
    static func ofOperator(_ options: WorkspaceOptions) throws -> PushClient {
        PushClient(try ServiceClient.ofOperator("push", options))
    }
}
