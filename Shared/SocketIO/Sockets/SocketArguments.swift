public import NIOCore

/// The arguments of an event or of an acknowledgement: JSON as it is on the wire, and binary attachments.
///
/// Nothing is decoded before it is asked for. Where an attachment belongs, the JSON has
/// `{"_placeholder":true,"num":0}` with its place in ``attachments``.
///
/// ```swift
/// let draft = try JSONDecoder().decode(Draft.self, from: Data(buffer: event.arguments[0]!))
/// socket.emit("saved", SocketArguments(json: #"{"id":7},"today""#))
/// ```
public struct SocketArguments: Hashable, Sendable {
    /// The JSON values with commas between them, as they stand between the brackets of an array.
    public let json: ByteBuffer
    public let attachments: [ByteBuffer]

    public static let none = SocketArguments(json: ByteBuffer())

    /// - Parameters:
    ///   - json: well-formed JSON values with commas between them; this is not checked.
    ///   - attachments: what the placeholders among them stand for.
    public init(json: ByteBuffer, attachments: [ByteBuffer] = []) {
        self.json = json
        self.attachments = attachments
    }

    /// - Parameters:
    ///   - json: well-formed JSON values with commas between them; this is not checked.
    ///   - attachments: what the placeholders among them stand for.
    public init(json: String, attachments: [ByteBuffer] = []) {
        self.init(json: ByteBuffer(string: json), attachments: attachments)
    }

    /// How many arguments there are.
    public var count: Int { JSONScanner.count(json) }

    /// The JSON of one argument; nil behind the last.
    public subscript(_ index: Int) -> ByteBuffer? { JSONScanner.element(index, of: json) }
}
