import AuthAPI
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/1/auth`: sign-in of the users of customers' applications (seed diuit).
struct ApplicationLoginRoutes {
    let logins: ApplicationLogins
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.open.get("1/auth/nonce", use: nonce)
        routes.open.post("1/auth/login", use: login)
    }

    func nonce(request: Request, context: SuiteContext) async throws -> Response {
        try .secret(await logins.nonce(header(of: request)))
    }

    func login(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: ApplicationLoginDraft.self, context: context)
        let caller = clientInfo.caller(of: request, context)
        return try .secret(await logins.login(draft, header(of: request), from: caller))
    }

    /// Reads the application's headers; a header that occurs twice counts as absent, because it is ambiguous.
    private func header(of request: Request) -> ApplicationLogins.Header {
        func only(_ name: HTTPField.Name) -> String? {
            let values = request.headers[values: name]
            return values.count == 1 ? values[0] : nil
        }
        return .init(applicationID: only(.applicationID), applicationKey: only(.applicationKey))
    }
}

extension HTTPField.Name {
    // A name that consists of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let applicationID = HTTPField.Name("x-diuit-application-id")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let applicationKey = HTTPField.Name("x-diuit-app-key")!
}
