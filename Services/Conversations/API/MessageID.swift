package import Wire

/// Packs the conversation's id and the message's `seq` into one number.
///
/// The id alone locates the message: there is no table of ids and no second index, and the shard is known. The lowest
/// five bits hold the number of `seq` bits that follow. Then come those bits without the highest, which is always 1,
/// and then the conversation's id. The two share 49 bits below 2^53: a million conversations may have half a billion
/// messages each. Within a conversation, a later message has a greater id.
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
