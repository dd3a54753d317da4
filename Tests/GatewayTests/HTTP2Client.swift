import Foundation
import NIOCore
import NIOHPACK

/// One HTTP/2 frame as it is on the wire, valid or not.
struct RawFrame: Equatable {
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let priority: UInt8 = 2
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    static let endStream: UInt8 = 1
    static let ack: UInt8 = 1
    static let endHeaders: UInt8 = 4

    var kind: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    var bytes: [UInt8] {
        Self.integer(UInt32(payload.count)).dropFirst() + [kind, flags] + Self.integer(stream) + payload
    }

    static func settings(_ settings: [(UInt16, UInt32)] = []) -> RawFrame {
        let payload = settings.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + integer($0.1) }
        return RawFrame(kind: Kind.settings, payload: payload)
    }

    static func reset(_ stream: UInt32, code: UInt32 = 8) -> RawFrame {
        RawFrame(kind: Kind.reset, stream: stream, payload: integer(code))
    }

    static func windowUpdate(_ stream: UInt32, by bytes: UInt32) -> RawFrame {
        RawFrame(kind: Kind.windowUpdate, stream: stream, payload: integer(bytes))
    }

    static func data(_ stream: UInt32, _ payload: [UInt8], ends: Bool = false) -> RawFrame {
        RawFrame(kind: Kind.data, flags: ends ? endStream : 0, stream: stream, payload: payload)
    }

    static func integer(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }

    /// The error code of a RST_STREAM or GOAWAY frame.
    var code: UInt32? {
        let bytes = kind == Kind.goAway ? payload.dropFirst(4).prefix(4) : payload.prefix(4)
        return kind == Kind.goAway || kind == Kind.reset ? bytes.reduce(0) { $0 << 8 | UInt32($1) } : nil
    }
}

/// An HTTP/2 client that sends what a test says, valid or not; used by one task.
final class HTTP2Client {
    typealias Fields = [(String, String)]

    let connection: RawConnection
    let fixture: GatewayFixture
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private(set) var nextStream: UInt32 = 1
    /// Frames that were read while a frame of another stream was expected.
    private var passed: [RawFrame] = []
    /// Decoded field blocks by stream; HPACK must decode them in the order of arrival.
    private var blocks: [UInt32: [[(name: String, value: String)]]] = [:]
    /// Whether received data opens the windows again.
    var opensWindows = true

    private init(_ connection: RawConnection, _ fixture: GatewayFixture) {
        self.connection = connection
        self.fixture = fixture
    }

    /// The part of a response that has arrived.
    struct Response {
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []
        var trailers: [(name: String, value: String)] = []
        /// The error code that the stream was reset with.
        var reset: UInt32?
        var frames: [UInt8] = []

        var status: Int { Int(self[":status"].first ?? "") ?? 0 }
        var text: String { String(decoding: body, as: UTF8.self) }
        /// The request as the echoing service received it.
        var forwarded: RawMessage { RawMessage(parsing: text) }
        var code: String? {
            var message = RawMessage(parsing: "")
            message.body = body
            return message.code
        }

        subscript(name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    }

    static func open<Result>(
        _ fixture: GatewayFixture,
        settings: [(UInt16, UInt32)] = [],
        _ body: (HTTP2Client) async throws -> Result
    ) async throws -> Result {
        try await fixture.connectTLS(over: ["h2"]) { connection in
            let client = HTTP2Client(connection, fixture)
            try await connection.send(
                Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + RawFrame.settings(settings).bytes
            )
            return try await body(client)
        }
    }

    // MARK: Sending

    func send(_ frames: RawFrame...) async throws {
        try await connection.send(frames.flatMap(\.bytes))
    }

    func send(_ frames: [RawFrame]) async throws {
        try await connection.send(frames.flatMap(\.bytes))
    }

    func block(_ fields: Fields) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// The fields that every request has.
    func request(_ line: String, authority: String? = "example.org", isSigned: Bool = true) -> Fields {
        let words = line.split(separator: " ").map(String.init)
        var fields: Fields = [(":method", words[0]), (":scheme", "https"), (":path", words[1])]
        if let authority { fields.append((":authority", authority)) }
        if isSigned { fields.append(("authorization", "Bearer \(fixture.token)")) }
        return fields
    }

    func headers(_ fields: Fields, ends: Bool = true) throws -> RawFrame {
        defer { nextStream += 2 }
        let flags = RawFrame.endHeaders | (ends ? RawFrame.endStream : 0)
        return RawFrame(kind: RawFrame.Kind.headers, flags: flags, stream: nextStream, payload: try block(fields))
    }

    /// Begins a request and returns the number of its stream.
    @discardableResult
    func begin(_ line: String, fields: Fields = [], ends: Bool = true) async throws -> UInt32 {
        let frame = try headers(request(line) + fields, ends: ends)
        try await send(frame)
        return frame.stream
    }

    /// Sends a whole request and reads its response.
    func perform(_ line: String, fields: Fields = [], body: [UInt8]? = nil) async throws -> Response {
        try await perform(request(line) + fields, body: body)
    }

    func perform(_ fields: Fields, body: [UInt8]? = nil) async throws -> Response {
        let frame = try headers(fields, ends: body == nil)
        try await send(frame)
        if let body { try await send(.data(frame.stream, body, ends: true)) }
        return try await response(on: frame.stream)
    }

    // MARK: Receiving

    /// The next frame; nil at the end of the connection.
    func frame() async throws -> RawFrame? {
        do {
            let head = try await connection.bytes(9)
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let payload = length == 0 ? [] : try await connection.bytes(length)
            let frame = RawFrame(kind: head[3], flags: head[4], stream: stream, payload: payload)
            try await react(to: frame)
            return frame
        } catch is WireError {
            return nil
        }
    }

    /// Does what HTTP/2 requires of every client.
    private func react(to frame: RawFrame) async throws {
        switch frame.kind {
        case RawFrame.Kind.headers:
            var block = ByteBuffer(bytes: frame.payload)
            let fields = try decoder.decodeHeaders(from: &block).map { (name: $0.name, value: $0.value) }
            // An interim response is not kept.
            if fields.contains(where: { $0.name == ":status" && $0.value.hasPrefix("1") }) { return }
            blocks[frame.stream, default: []].append(fields)
        case RawFrame.Kind.settings where frame.flags & RawFrame.ack == 0:
            await reply([RawFrame(kind: RawFrame.Kind.settings, flags: RawFrame.ack)])
        case RawFrame.Kind.ping where frame.flags & RawFrame.ack == 0:
            await reply([RawFrame(kind: RawFrame.Kind.ping, flags: RawFrame.ack, payload: frame.payload)])
        case RawFrame.Kind.data where opensWindows && !frame.payload.isEmpty:
            var updates = [RawFrame.windowUpdate(0, by: UInt32(frame.payload.count))]
            if frame.flags & RawFrame.endStream == 0 {
                updates.append(.windowUpdate(frame.stream, by: UInt32(frame.payload.count)))
            }
            await reply(updates)
        default: break
        }
    }

    private func reply(_ frames: [RawFrame]) async {
        // The other side may have closed the connection; what it sent before can still be read.
        try? await send(frames)
    }

    /// The next frame of this kind.
    func frame(of kind: UInt8) async throws -> RawFrame? {
        if let index = passed.firstIndex(where: { $0.kind == kind }) { return passed.remove(at: index) }
        while let frame = try await frame() {
            if frame.kind == kind { return frame }
            passed.append(frame)
        }
        return nil
    }

    /// Waits for the next GOAWAY frame and returns its error code.
    func awaitGoAway() async throws -> UInt32? {
        try await frame(of: RawFrame.Kind.goAway)?.code
    }

    /// Everything that arrives on a stream until the end of the stream or the connection.
    func response(on stream: UInt32) async throws -> Response {
        var response = Response()
        while let frame = try await next(on: stream) {
            response.frames.append(frame.kind)
            switch frame.kind {
            case RawFrame.Kind.headers:
                guard let fields = blocks[stream]?.first else { continue }
                blocks[stream]?.removeFirst()
                if response.fields.isEmpty { response.fields = fields } else { response.trailers = fields }
            case RawFrame.Kind.data: response.body += frame.payload
            case RawFrame.Kind.reset:
                response.reset = frame.code
                return response
            default: continue
            }
            if frame.flags & RawFrame.endStream != 0 { return response }
        }
        return response
    }

    private func next(on stream: UInt32) async throws -> RawFrame? {
        if let index = passed.firstIndex(where: { $0.stream == stream }) { return passed.remove(at: index) }
        while let frame = try await frame() {
            if frame.stream == stream { return frame }
            passed.append(frame)
        }
        return nil
    }
}
