import AuthAPI
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/1/auth`: how people of a customer's application sign in (seed diuit).
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

    /// Two of a kind are as none: which of them counts is nobody's to guess.
    private func header(of request: Request) -> ApplicationLogins.Header {
        func only(_ name: HTTPField.Name) -> String? {
            let values = request.headers[values: name]
            return values.count == 1 ? values[0] : nil
        }
        return .init(applicationID: only(.applicationID), applicationKey: only(.applicationKey))
    }
}

extension HTTPField.Name {
    // Names of RFC 9110's token characters alone always parse.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let applicationID = HTTPField.Name("x-diuit-application-id")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let applicationKey = HTTPField.Name("x-diuit-app-key")!
}
