/// The places that feeds, messages and notifications come from (seed comblie, and the open networks beyond it).
///
/// The raw values are what is on the wire and in item ids.
package enum Network: String, Codable, CaseIterable, Sendable, CodingKeyRepresentable {
    case facebook, twitter, instagram, vine, tumblr, reddit, mastodon, bluesky
    /// The suite's own photos and conversations; always linked.
    case roost

    /// A network by a name that clients use; the posting table of the seed says `vimeo` and means vine.
    package init?(named name: String) {
        self.init(rawValue: name == "vimeo" ? "vine" : name)
    }
}
