import AuthAPI
import Credentials
import ServiceClient

extension AuthClient {
    /// Auth, as the operator's command calls it.
    static func ofOperator(_ options: WorkspaceOptions) throws -> AuthClient {
        let settings = try SuiteSettings(workspace: try options.workspace())
        guard let secret = settings.secret("SERVICE_SECRET") else {
            throw Workspace.Problem("SERVICE_SECRET is not set and .roost/secrets.env does not have it")
        }
        let tokens = try ServiceTokens(secret: secret, name: "roost")
        let addresses = SuiteProgram.all.flatMap { $0.name == "auth" ? settings.addresses(of: $0) : [] }
        return AuthClient(
            ServiceClient(
                callee: "auth",
                transport: HTTPTransport(baseURLs: addresses),
                authorization: { "Bearer \(try tokens.token(for: "auth"))" }
            )
        )
    }
}
