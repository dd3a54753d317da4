import Foundation
import Testing

@testable import SocketIOClient

@Suite("Packets") struct PacketTests {
    @Test(
        "A malformed packet is rejected with the reason",
        arguments: [
            ("", "an empty packet"), ("9", "a packet of a kind that was not asked for"),
            ("0", "a connection without an id"), ("0{}", "a connection without an id"),
            ("2", "arguments that are no array"), ("2[]", "an event without a name"),
            ("2[1]", "an event without a name"),
            ("2[\"a\",]", "arguments that are no array"), ("2[\"a\"]]", "arguments that are no array"),
            ("2[\"a]", "arguments that are no array"), ("2[\"a\",[1]", "arguments that are no array"),
            ("3[1]", "an acknowledgement of nothing"), ("399999999999999999999[1]", "an acknowledgement of nothing"),
            ("2/other,[\"a\"]", "a packet for another namespace"),
            ("51-[\"a\",{\"_placeholder\":true,\"num\":0}]", "a packet of a kind that was not asked for"),
        ]
    )
    func malformedPackets(text: String, what: String) {
        #expect(throws: Packet.Malformed(reason: what)) { try Packet(Array(text.utf8)) }
    }

    @Test("The arguments of a packet keep their exact text")
    func arguments() throws {
        let packet = try Packet(Array(#"212[ "a\"b" , {"x":[1,"]"]} ,[],"\\" ]"#.utf8))
        let arguments = [#" {"x":[1,"]"]} "#, "[]", #""\\" "#].map(json)
        #expect(packet == .event(SocketIOEvent(name: "a\"b", arguments: arguments, acknowledgement: 12)))
        #expect(try Packet(Array("30[]".utf8)) == .acknowledgement(0, []))
        #expect(try Packet(Array("30[ ]".utf8)) == .acknowledgement(0, []))
        #expect(try Packet(Array("1".utf8)) == .disconnect)
    }
}
