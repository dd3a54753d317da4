import AuthAPI
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceHost
import Wire

extension SignInStep where Output: Encodable {
    /// Returns the tokens, or a problem with the challenge that the client answers with a second-factor code.
    func response(requestID: String) throws -> Response {
        switch self {
        case .done(let output): return try .secret(output)
        case .secondFactor(let challenge):
            let error = APIError(.unauthenticated, "mfa_required", "this account requires a second-factor code")
            var response = error.problem(requestID: requestID)
            let body = try WireJSON.encoder().encode(
                ChallengingProblem(problem: Problem(error, requestID: requestID), challenge: challenge)
            )
            response.headers[.contentLength] = "\(body.count)"
            response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: body))
            return response
        }
    }
}

/// A problem with an additional member, which RFC 9457 (section 3.2) permits.
private struct ChallengingProblem: Encodable {
    let problem: Problem
    let challenge: String

    private enum CodingKeys: String, CodingKey { case challenge }

    func encode(to encoder: any Encoder) throws {
        try problem.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(challenge, forKey: .challenge)
    }
}
