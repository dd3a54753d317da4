import Credentials
import HTTPTypes
import Hummingbird
import Wire

/// Reads the credential of a request for an event stream: the header fields of every route, or a stream ticket.
///
/// No other route reads the parameter `ticket`, so a ticket gives access to nothing but streams.
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
            // Two credentials could stand for two users.
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
