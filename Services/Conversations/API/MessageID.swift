package import Wire

/// A message's id is its conversation's id and its `seq` in one number.
///
/// So an id alone says where the message is: no table of ids, no second index, and the shard is known. From the lowest
/// bit: five bits say how many bits of `seq` follow, then those bits but the highest (which is always 1), then the
/// conversation's id. The two share 49 bits below 2^53; a million conversations may have half a billion messages each.
/// Within a conversation a later message has a greater id.
extension Message.ID {
    private static var lengthBits: Int64 { 5 }

    package init(_ conversation: Conversation.ID, seq: Int64) {
        let length = Int64(Int64.bitWidth - 1 - seq.leadingZeroBitCount)
        let withoutHighest = seq & ~(1 << length)
        self.init((conversation.rawValue << length | withoutHighest) << Self.lengthBits | length)
    }

    package var conversation: Conversation.ID { Conversation.ID(rawValue >> (Self.lengthBits + length)) }

    package var seq: Int64 { 1 << length | (rawValue >> Self.lengthBits & (1 << length - 1)) }

    private var length: Int64 { rawValue & (1 << Self.lengthBits - 1) }
}
