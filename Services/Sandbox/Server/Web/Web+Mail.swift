import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/sandbox/mails`: the mails that the mail server received.
extension Web {
    private struct EmailList: Encodable {
        let mails: [ReceivedEmail]
    }

    func mails(_ request: WebRequest) throws -> ResponseAction {
        if request.method == .DELETE {
            mailbox.clear()
            return .response(WebResponse(.noContent))
        }
        try request.require(.GET)
        let after = try request.number("after", default: 0, in: 0...Int.max)
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let receiver = request.query["to"]
        return .response(try .json(EmailList(mails: mailbox.mails(to: receiver, after: after, limit: limit))))
    }
}
