import NIOCore
import NIOEmbedded
import TLSRecords
import Testing

@Suite("TLS record batching") struct TLSRecordBatcherTests {
    private let batcher = TLSRecordBatcher()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handler: batcher)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    @Test("The pieces of a response share a record")
    func responsePieces() throws {
        channel.write(ByteBuffer(string: "head "), promise: nil)
        channel.write(ByteBuffer(string: "body"), promise: nil)
        channel.flush()
        #expect(try sent() == ["head body"])
    }

    @Test("The streams of one event loop turn share a record")
    func streamsShareRecord() throws {
        batcher.gathersTurns = true
        for stream in ["one ", "two ", "three"] { channel.writeAndFlush(ByteBuffer(string: stream), promise: nil) }
        #expect(try sent() == [])
        channel.embeddedEventLoop.run()
        #expect(try sent() == ["one two three"])
    }

    @Test("Waiting bytes are sent before the connection closes")
    func flushBeforeClose() throws {
        batcher.gathersTurns = true
        channel.writeAndFlush(ByteBuffer(string: "good-bye"), promise: nil)
        channel.close(promise: nil)
        #expect(try sent() == ["good-bye"])
        channel.embeddedEventLoop.run()
        #expect(try sent() == [])
    }

    private func sent() throws -> [String] {
        var texts: [String] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { texts.append(String(buffer: bytes)) }
        return texts
    }
}
