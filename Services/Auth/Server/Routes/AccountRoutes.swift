import AuthAPI
import Credentials
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/register`, `/auth/me` and `/auth/users`.
struct AccountRoutes {
    let accounts: Accounts
    let credentials: CredentialVerifier
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.open.post("auth/register", use: register)
        routes.user.get("auth/me", use: show)
        routes.user.patch("auth/me", use: update)
        routes.user.get("auth/users", use: find)
    }

    func register(request: Request, context: SuiteContext) async throws -> JSONResponse<RegistrationResult> {
        // On other routes an invalid credential counts as none. Here that would create a second account instead of
        // registering the anonymous one.
        let requester =
            try Credential(request.headers) == nil ? nil : try await credentials.identity(of: request.headers)
        var draft = try await request.decode(as: AccountDraft.self, context: context)
        if request.isForm { draft.dropEmptyFields() }
        let caller = clientInfo.caller(of: request, context)
        return JSONResponse(try await accounts.register(draft, by: requester?.user, from: caller))
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Account> {
        JSONResponse(try await accounts.show(context.user))
    }

    func update(request: Request, context: UserContext) async throws -> JSONResponse<Account> {
        let changes = try await request.decode(as: AccountChanges.self, context: context)
        return JSONResponse(try await accounts.update(changes, of: context.user))
    }

    func find(request: Request, context: UserContext) async throws -> Page<UserSummary> {
        try await accounts.find(named: request.queries("username"), by: context.user)
    }
}

extension AccountDraft: FormDecodable {
    /// Removes empty fields, because a form also sends the fields that the user left blank.
    fileprivate mutating func dropEmptyFields() {
        if username == "" { username = nil }
        if email == "" { email = nil }
        if fullName == "" { fullName = nil }
    }
}

extension Request {
    fileprivate var isForm: Bool {
        headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
    }
}
