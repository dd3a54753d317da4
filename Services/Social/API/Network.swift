/// A social network that provides feeds, messages and notifications (seed comblie), including open networks.
///
/// The raw values appear in JSON and in item ids.
package enum Network: String, Codable, CaseIterable, Sendable, CodingKeyRepresentable {
    case facebook, twitter, instagram, vine, tumblr, reddit, mastodon, bluesky
    /// The suite's own photos and conversations, which are always linked.
    case roost

    /// Returns the network for a name that a client sent.
    ///
    /// The seed's posting table writes `vimeo` for Vine.
    package init?(named name: String) {
        self.init(rawValue: name == "vimeo" ? "vine" : name)
    }
}
