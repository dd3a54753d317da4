import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// Routes HTTP/1.1 requests to the services by their path.
struct Web: Sendable {
    let received: ReceivedNotifications
    let script: Script
    let devices: APNsDevices
    let accounts: DeveloperAccounts
    let fcm: FCM
    let webPush: WebPush
    let networks: Networks
    let pages: PageFiles
    let authorityPEM: String
    let mailbox: Mailbox
    let ports: @Sendable () -> (production: Int, sandbox: Int, smtp: Int)

    func reply(to request: WebRequest) -> ResponseAction {
        do {
            return try route(request)
        } catch let error as APIError {
            return .response(.problem(error))
        } catch {
            return .response(.problem(APIError(.internal, "internal", "\(error)")))
        }
    }

    func tooLarge(_ request: WebRequest) -> ResponseAction {
        .response(.problem(APIError(.tooLarge, "too_large", "the body is too large")))
    }

    var tooManySubscribers: WebResponse {
        .problem(.unavailable("a further notification subscriber"))
    }

    private func route(_ request: WebRequest) throws -> ResponseAction {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        switch parts.first {
        case "fcm": return try fcm.reply(to: request, at: Array(parts.dropFirst()))
        case "webpush" where parts.count == 2: return try webPush.reply(to: request, subscription: parts[1])
        case "sandbox": return try control(request, at: Array(parts.dropFirst()))
        case "health" where parts.count == 1, "ready" where parts.count == 1:
            return .response(try .json(["status": parts[0] == "ready" ? "ready" : "up"]))
        case "ca.pem" where parts.count == 1:
            return .response(.text(authorityPEM, type: "application/x-pem-file"))
        default:
            if let reply = try networks.reply(to: request, at: parts) { return reply }
            guard let page = pages.page(at: request.path) else {
                throw APIError(.notFound, "no_route", "there is no route \(request.path)")
            }
            try request.require(.GET, .HEAD)
            return .response(page)
        }
    }
}

extension WebRequest {
    /// - Throws: `APIError` for any other method.
    func require(_ methods: HTTPMethod...) throws {
        guard methods.contains(method) else {
            throw APIError(.methodNotAllowed, "method_not_allowed", "\(path) does not support \(method)")
        }
    }
}
