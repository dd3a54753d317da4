import NIOCore
import Testing

@testable import SocketIO

@Suite("Primitives") struct PrimitivesTests {
    @Test("Base64 encodes and decodes as in the RFC")
    func base64() {
        for (text, encoded) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            var buffer = ByteBuffer()
            Base64.encode(ByteBuffer(string: text), into: &buffer)
            #expect(String(buffer: buffer) == encoded)
            #expect(Base64.decode(ByteBuffer(string: encoded)) == ByteBuffer(string: text))
            let bare = encoded.filter { $0 != "=" }
            #expect(Base64.decode(ByteBuffer(string: bare)) == ByteBuffer(string: text))
        }
        for wrong in ["Z", "Zg=", "Zg===", "Z=g=", "Zm9vYmFyA", "====", "Zm 9", "Zm-_"] {
            #expect(Base64.decode(ByteBuffer(string: wrong)) == nil, "\(wrong)")
        }
    }

    @Test("The UTF-8 check agrees with the standard library")
    func utf8() {
        let pieces: [[UInt8]] = [
            [0x41], [0x7f], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0xc0, 0x80],
            [0xed, 0xa0, 0x80],
            [0xf4, 0x90, 0x80, 0x80], [0xf8], [0x80], [0xe2, 0x82], [0xe0, 0x9f, 0x80], [0xf0, 0x8f, 0x80, 0x80],
            Array("eight by".utf8),
        ]
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let bytes = first + second + third
                    #expect(
                        UTF8Check.isWellFormed(ByteBuffer(bytes: bytes))
                            == (String(validating: bytes, as: UTF8.self) != nil)
                    )
                }
            }
        }
    }

    @Test("Arguments are found by index")
    func arguments() {
        let arguments = SocketArguments(json: #" 1 ,"a,\"]",[2,[3]] , {"b":","} "#)
        #expect(arguments.count == 4)
        #expect(
            (0..<5).map { arguments[$0].map { String(buffer: $0) } } == [
                "1", #""a,\"]""#, "[2,[3]]", #"{"b":","}"#, nil,
            ]
        )
        #expect(SocketArguments.none.count == 0)
        #expect(SocketArguments.none[0] == nil)
    }

    @Test("Query parameters are decoded, and the first of duplicates counts")
    func queries() {
        let query = SocketQuery("a=1&b=x%20y+z&c&a=2&d=%zz&%C3%A9=%E2%82%AC")
        #expect(query["a"] == "1")
        #expect(query["b"] == "x y z")
        #expect(query["c"] == "")
        #expect(query["d"] == "%zz")
        #expect(query["é"] == "€")
        #expect(query["e"] == nil)
    }

    @Test("Ids are different, and start with their prefix")
    func ids() {
        let ids = Set((0..<1_000).map { _ in RandomID.make(prefix: "ab") })
        #expect(ids.count == 1_000)
        #expect(ids.allSatisfy { $0.hasPrefix("ab") && $0.utf8.count == 22 })
    }

    @Test("A room with a number differs from a room with the same text")
    func rooms() {
        #expect(SocketRoom("7") != SocketRoom(7))
        #expect(SocketRoom(7) == SocketRoom(7))
        #expect("\(SocketRoom(7)) \(SocketRoom("seven"))" == "7 seven")
    }

    @Test("The read buffer grows and shrinks with the bytes received")
    func readBuffer() {
        var reads = AdaptiveReadAllocator()
        var sizes: [Int] = []
        for count in [256, 4_096, 16_384, 65_536, 65_536, 10, 10] {
            sizes.append(reads.buffer(allocator: ByteBufferAllocator()).capacity)
            _ = reads.record(actualReadBytes: count)
        }
        #expect(sizes == [256, 4_096, 16_384, 65_536, 65_536, 65_536, 4_096])
    }
}
