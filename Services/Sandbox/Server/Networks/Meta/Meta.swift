import Crypto
import Foundation
import NIOHTTP1
import Wire

/// The common parts of Facebook and Instagram: errors, usage in percent, `appsecret_proof` and cursors.
enum Meta {
    static func error(
        _ code: Int,
        _ message: String,
        _ status: HTTPResponseStatus = .badRequest,
        type: String = "OAuthException",
        subcode: Int? = nil,
        isTransient: Bool = false
    ) -> NetworkErrorResponse {
        var error: JSONValue = [
            "message": .string(message), "type": .string(type), "code": .int(code), "is_transient": .bool(isTransient),
            "fbtrace_id": "AQt_hJ68vFybS4TnupatNtX",
        ]
        if let subcode { error = error.with(["error_subcode": .int(subcode)]) }
        return NetworkErrorResponse(.jsonValue(["error": error], status), String(code))
    }

    static let expired = error(190, "Error validating access token: Session has expired", .unauthorized, subcode: 463)

    static func errorResponse(_ failure: NetworkFailure, at now: Date) -> WebResponse {
        switch failure {
        case .limited(let time):
            var response = error(4, "(#4) Application request limit reached", .forbidden, isTransient: true).response
            let minutes = max(1, Int((time.timeIntervalSince(now) / 60).rounded(.up)))
            let usage: JSONValue = [
                "type": "pages", "call_count": 100, "total_cputime": 20, "total_time": 20,
                "estimated_time_to_regain_access": .int(minutes),
            ]
            response.headers.add(name: "x-business-use-case-usage", value: JSONValue.object(["1": [usage]]).line)
            response.headers.add(name: "x-app-usage", value: #"{"call_count":100,"total_time":25,"total_cputime":25}"#)
            return response
        case .unavailable(let status):
            return error(
                2,
                "An unexpected error has occurred. Please retry your request later.",
                HTTPResponseStatus(statusCode: status),
                isTransient: true
            ).response
        case .expired: return expired.response
        case .other(let status, let reason):
            return error(Int(reason) ?? 1, reason, HTTPResponseStatus(statusCode: status)).response
        case .notFound:
            return error(
                100,
                "Unsupported get request. Object does not exist.",
                type: "GraphMethodException",
                subcode: 33
            ).response
        }
    }

    /// Returns the header field with the usage in percent of the limit.
    static func fields(of limitStatus: RateLimitStatus) -> HTTPHeaders {
        let percent = limitStatus.limit == 0 ? 100 : min(100, limitStatus.used * 100 / limitStatus.limit)
        let usage: JSONValue = ["call_count": .int(percent), "total_time": .int(percent / 2), "total_cputime": 1]
        return ["x-app-usage": usage.line]
    }

    /// Returns the token of a request, and checks its `appsecret_proof` when there is one.
    static func token(of request: NetworkRequest, secret: String) throws -> String {
        guard let token = request["access_token"] ?? request.bearer else {
            throw error(104, "An access token is required to request this resource.", .badRequest)
        }
        if let proof = request["appsecret_proof"], proof != hex(token, secret) {
            throw error(100, "Invalid appsecret_proof provided in the API argument", type: "GraphMethodException")
        }
        return token
    }

    static func hex(_ text: String, _ secret: String) -> String { hex(Data(text.utf8), secret) }

    static func hex(_ bytes: Data, _ secret: String) -> String {
        HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: Data(secret.utf8)))
            .map { String(format: "%02x", $0) }.joined()
    }

    /// Returns a time in the format of `2021-07-04T19:50:58+0000`.
    static func time(_ date: Date) -> String {
        String(Timestamp.string(from: date).dropLast(5)) + "+0000"
    }

    static func page<Item>(
        _ request: NetworkRequest,
        _ all: [Item],
        standard: Int = 25,
        _ id: (Item) -> Int64,
        _ show: (Item) -> JSONValue
    ) -> JSONValue {
        let after = request["after"].flatMap { Data(base64Encoded: $0) }.flatMap {
            Int64(String(decoding: $0, as: UTF8.self))
        }
        let rest = all.filter { item in after.map { id(item) < $0 } ?? true }
        let limit = request.limit(standard: standard, most: 100)
        let shown = request.returnsEmptyPage ? [] : Array(rest.prefix(limit))
        let page: JSONValue = ["data": .list(shown.map(show))]
        let cursor = { (id: Int64) in Data(String(id).utf8).base64EncodedString() }
        let edge = request.returnsEmptyPage ? rest.first.map { id($0) + 1 } : shown.last.map(id)
        guard let edge else { return page }
        var paging: JSONValue = [
            "cursors": ["before": .text(shown.first.map { cursor(id($0)) }), "after": .string(cursor(edge))]
        ]
        if request.returnsEmptyPage || rest.count > limit {
            let queryItems = request.query.filter { !["after", "access_token", "appsecret_proof"].contains($0.name) }
            let url = ConsentPage.url(request.url, queryItems.map { ($0.name, $0.value) } + [("after", cursor(edge))])
            paging = paging.with(["next": .string(url)])
        }
        return page.with(["paging": paging])
    }
}
