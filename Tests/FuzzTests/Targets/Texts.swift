@testable import ConversationsServer
@testable import Credentials
import NIOCore
@testable import PhotosServer
@testable import SocialServer
@testable import Wire

extension FuzzTarget {
    static let texts = [searchWords, hashtags, textMask, names, timestamp, html, eventStream]

    static let searchWords = FuzzTarget("search-words") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let words = SearchWords.words(in: text)
        _ = SearchWords.terms(of: text).prefix(64).allSatisfy { $0.isAmong(words) }
    }

    static let hashtags = FuzzTarget("hashtags") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        precondition(HashtagText.all(in: text).count <= HashtagText.maximum)
        _ = HashtagText.foldPrefix(text)
    }

    static let textMask = FuzzTarget("text-mask") { bytes in
        // The text of a post or a comment has at most this length.
        let text = String(String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix(2_000))
        _ = TextMask(stopsShouting: true, words: ["bad", "schlecht"]).masked(text)
    }

    /// User names.
    static let names = FuzzTarget("name-folding") { bytes in
        let folded = NameFolding.fold(String(decoding: bytes, as: UTF8.self))
        precondition(NameFolding.fold(folded) == folded, "a folded name folds to another")
    }

    static let timestamp = FuzzTarget("timestamp") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        for date in [Timestamp.date(from: text), ISO8601Time.date(from: text), NetworkTime.date(text)] {
            guard let date = date.flatMap(NetworkTime.plausible) else { continue }
            precondition(Timestamp.date(from: Timestamp.string(from: date)) != nil, "a formatted time cannot be parsed")
        }
    }

    /// The HTML of a network's post.
    static let html = FuzzTarget("html-text") { bytes in
        _ = PlainText.ofHTML(String(decoding: bytes, as: UTF8.self))
    }

    /// An event stream of a server that a user chose, in pieces whose length the first byte determines.
    static let eventStream = FuzzTarget("event-stream") { bytes in
        guard let first = bytes.first else { return }
        var reader = EventStreamReader()
        var rest = bytes.dropFirst()
        let length = max(1, Int(first) * 16)
        while !rest.isEmpty {
            // Silence: parsing ends at an event that is too large.
            guard (try? reader.feed(ByteBuffer(bytes: rest.prefix(length)))) != nil else { return }
            rest = rest.dropFirst(length)
        }
    }
}
