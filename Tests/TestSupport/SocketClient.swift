import Foundation
package import HTTPTypes
import ServiceClient
package import Wire

/// A Socket.IO client with HTTP long polling (Engine.IO 4), which performs one protocol step at a time.
package final class SocketClient {
    /// A response with another status than 200.
    package struct Refused: Error {
        package let status: Int
        package let body: String
    }

    private let transport: HTTPTransport
    private let headers: HTTPFields
    package private(set) var session = ""
    package private(set) var isClosed = false
    private var lastAcknowledgementID = 0
    private var acknowledgements: [Int: JSONValue] = [:]
    private var events: [(name: String, argument: JSONValue)] = []
    private var replies: [String] = []

    /// Opens a session, and connects to the namespace with the payload `auth`.
    package init(port: Int, headers: HTTPFields = [:], auth: String = "") async throws {
        transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
        self.headers = headers
        let opened = try await exchange(.get)
        guard let data = opened.first?.dropFirst() else { throw TestSupportError("no open packet") }
        session = try Self.json(data)["sid"].string ?? ""
        try await send("40\(auth)")
    }

    // MARK: Events

    /// Emits an event with `payload`, which is JSON text or nil for no argument, and waits for its acknowledgement.
    package func ask(_ event: String, _ payload: String? = "{}") async throws -> JSONValue {
        lastAcknowledgementID += 1
        try await send("42\(lastAcknowledgementID)\(Self.array(event, payload))")
        while acknowledgements[lastAcknowledgementID] == nil { try await poll() }
        defer { acknowledgements[lastAcknowledgementID] = nil }
        return acknowledgements[lastAcknowledgementID] ?? .null
    }

    package func say(_ event: String, _ payload: String? = "{}") async throws {
        try await send("42\(Self.array(event, payload))")
    }

    /// Returns the next event of this name, and drops other events.
    package func event(_ name: String) async throws -> JSONValue {
        while true {
            while !events.isEmpty {
                let event = events.removeFirst()
                if event.name == name { return event.argument }
            }
            try await poll()
        }
    }

    /// Returns the reply to the connect packet: `40…` or `44…`.
    package func reply() async throws -> String {
        while replies.isEmpty { try await poll() }
        return replies.removeFirst()
    }

    package func end() async throws {
        while !isClosed {
            do {
                try await poll()
            } catch is Refused {
                isClosed = true
            }
        }
    }

    private static func array(_ event: String, _ payload: String?) -> String {
        "[\"\(event)\"\(payload.map { ",\($0)" } ?? "")]"
    }

    // MARK: Packets

    package func send(_ packet: String) async throws {
        _ = try await exchange(.post, packet)
    }

    private func poll() async throws {
        guard !isClosed else { throw TestSupportError("the server has closed the session") }
        for packet in try await exchange(.get) { try await process(packet) }
    }

    private func process(_ packet: String) async throws {
        switch packet.first {
        case "1": isClosed = true
        case "2": try await send("3")
        case "4": try processMessage(packet.dropFirst())
        default: break
        }
    }

    private func processMessage(_ packet: Substring) throws {
        let rest = packet.dropFirst()
        switch packet.first {
        case "0", "4": replies.append("4\(packet)")
        case "1": isClosed = true
        case "2":
            let array = try Self.json(rest)
            events.append((array[0].string ?? "", array[1]))
        case "3":
            let id = rest.prefix { $0.isNumber }
            acknowledgements[Int(id) ?? 0] = try Self.json(rest.dropFirst(id.count))[0]
        default: throw TestSupportError("packet \(packet)")
        }
    }

    private static func json(_ text: Substring) throws -> JSONValue {
        try WireJSON.decoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    private func exchange(_ method: HTTPRequest.Method, _ body: String? = nil) async throws -> [String] {
        var path = "/socket.io/?EIO=4&transport=polling"
        if !session.isEmpty { path += "&sid=\(session)" }
        var headers = headers
        if body != nil { headers[.contentType] = "text/plain;charset=UTF-8" }
        let response = try await transport.send(
            ServiceRequest(
                method: method,
                path: path,
                headers: headers,
                body: body.map { Data($0.utf8) },
                timeout: .seconds(30)
            )
        )
        let text = String(decoding: response.body, as: UTF8.self)
        guard response.status == 200 else { throw Refused(status: response.status, body: text) }
        return text.split(separator: "\u{1E}").map(String.init)
    }
}
