import Credentials
import HTTPTypes
import Hummingbird
import Wire

/// The middleware that reads the credential of an event stream's request: the usual header fields or a stream ticket.
///
/// No other route reads the parameter `ticket`, so a ticket gives access to streams only.
struct ReadStreamCredential: RouterMiddleware {
    typealias Context = SuiteContext

    let verifier: CredentialVerifier

    func handle(
        _ request: Request,
        context: SuiteContext,
        next: (Request, SuiteContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let tickets = try request.queries(StreamTicket.parameter)
        if let ticket = tickets.first {
            // Two credentials could belong to different users.
            guard tickets.count == 1, try Credential(request.headers) == nil else {
                throw CredentialVerifier.invalidTicket
            }
            context.identity = try await verifier.identify(ticket: ticket, for: request.uri.path)
        } else {
            context.identity = try await verifier.identity(of: request.headers, allowingServer: true)
        }
        return try await next(request, context)
    }
}
