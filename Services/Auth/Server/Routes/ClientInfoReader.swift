import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import ServiceHost
import Wire

/// Reads the address, user agent and language of a request's client.
struct ClientInfoReader: Sendable {
    /// The addresses of gateways, whose `X-Forwarded-For` is trusted.
    let gateway: AddressRanges
    let texts: AuthTexts

    func caller(of request: Request, _ context: SuiteContext) -> ClientInfo {
        caller(of: request, at: context.remoteAddress)
    }

    func caller(of request: Request, at remoteAddress: SocketAddress?) -> ClientInfo {
        let peer = remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let userAgent = request.headers[.userAgent].map { text in
            String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isControl }.prefix(255)))
        }
        return ClientInfo(
            address: gateway.client(of: peer, forwardedFor: request.headers[values: .forwardedFor]),
            userAgent: userAgent.flatMap { $0.isEmpty ? nil : $0 },
            language: texts.preferred(accepting: request.headers[.acceptLanguage])?.description
        )
    }
}

extension Response {
    /// Returns a response that no intermediary or browser may cache (RFC 6749, section 5.1).
    static func secret(_ value: some Encodable) throws -> Response {
        var response = try Response.json(value)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension HTTPField.Name {
    // A name that consists of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
