import Foundation

/// The initial content of a network: the same people and posts at every start.
struct CommunitySeed: Sendable {
    /// Shifts the times of the posts in seconds, so that the posts of different networks alternate in a merged feed.
    let offset: TimeInterval
    var posts = 400
    /// The time of the newest post.
    var until = CommunitySeed.standardEnd
    /// Parts of the network, such as subreddits, over which the posts are distributed in turn.
    var rooms: [String] = []
    /// The attachment that every post must have: a video on Vine, a photo on Instagram.
    var mustHave: Attachment.Kind?

    /// 20 November 2026, 12:00 UTC.
    static let standardEnd = Date(timeIntervalSince1970: 1_795_176_000)
    private static let spacing: TimeInterval = 420

    static func personID(_ number: Int) -> Int64 { 10_001 + Int64(number) }

    private static let phrases = [
        "Good morning from the harbour", "The bread came out well today", "Anyone up for a walk later?",
        "Reading about tides & moons", "This synth has 49 keys and I like them all", "Rain again <3",
        "We planted forty trees", "Live at eight, bring tea", "The cat has opinions", "Night train to the coast",
        "Found a first edition at the market", "Coffee, then code", "Sunset behind the gasworks",
        "Practising the left hand", "Käsespätzle für alle 🧀", "The bridge is open again", "New strings, old songs",
    ]

    func state(numbering ids: IDGenerator) -> Community.State {
        var state = Community.State()
        for (number, person) in Person.seeded.enumerated() {
            state.people.append(
                Person(
                    number: number,
                    id: Self.personID(number),
                    name: person.name,
                    displayName: person.displayName,
                    follows: Person.followed(by: number)
                )
            )
            state.numbers[person.name] = number
        }
        for index in 0..<posts { addPost(index, to: &state, ids) }
        addMessageThreads(to: &state, ids)
        return state
    }

    private func time(_ index: Int) -> Date {
        let seconds = Self.spacing * Double(posts - index) - offset
        return Date(timeIntervalSince1970: (until.timeIntervalSince1970 - seconds).rounded())
    }

    private func addPost(_ index: Int, to state: inout Community.State, _ ids: IDGenerator) {
        let time = time(index)
        let author = (index * 5 + index / 12) % Person.seeded.count
        let phrase = Self.phrases[index % Self.phrases.count]
        var post = Post(id: state.nextID(ids, at: time), author: author, text: "\(phrase) #\(index)", createdAt: time)
        if !rooms.isEmpty {
            post.title = "\(phrase) #\(index)"
            post.room = rooms[index % rooms.count]
        }
        let recent = state.posts.suffix(9).first
        if index % 11 == 10, let recent, recent.author != author, recent.original == nil, mustHave == nil, rooms.isEmpty
        {
            post.original = recent.id
            post.text = ""
            state.indexByID[recent.id].map { _ = state.posts[$0].boosts.insert(author) }
        } else if index % 13 == 12, let recent, recent.original == nil, mustHave == nil, rooms.isEmpty {
            post.parent = recent.id
            state.indexByID[recent.id].map { state.posts[$0].replies += 1 }
        } else if index % 7 == 3 || mustHave == .photo {
            post.media = [photo(index)]
        } else if index % 19 == 5 || mustHave == .video {
            post.media = [
                Attachment(id: 700_000 + Int64(index), kind: .video, type: "video/mp4", width: 480, height: 480)
            ]
        }
        if index % 17 == 4 {
            post.location = Location(id: "113785468632283", name: "Lake Merced", latitude: 37.72, longitude: -122.49)
        }
        post.likes = Set((0..<(index % 4)).map { (author + 1 + $0) % Person.seeded.count })
        state.append(post)
        addNotices(of: post, index: index, to: &state, ids)
    }

    private func photo(_ index: Int) -> Attachment {
        var photo = Attachment(id: 500_000 + Int64(index), kind: .photo, type: "image/png")
        photo.description = "A photo, number \(index)"
        photo.size = MediaStore.photo.count
        return photo
    }

    private func addNotices(of post: Post, index: Int, to state: inout Community.State, _ ids: IDGenerator) {
        let actor = (post.author + 1 + index % 5) % Person.seeded.count
        if post.author < 4, post.original == nil {
            let kind: Notice.Kind = [.like, .boost, .like, .reply][index % 4]
            _ = state.notice(kind, to: post.author, by: actor, about: post.id, ids, post.createdAt + 60)
        } else if index % 9 == 0 {
            _ = state.notice(.follow, to: index % 4, by: post.author, about: nil, ids, post.createdAt + 60)
        }
    }

    private func addMessageThreads(to state: inout Community.State, _ ids: IDGenerator) {
        for person in 0..<4 {
            for other in 4..<8 {
                var messageThread = MessageThread(id: state.nextID(ids, at: until), members: [other, person])
                messageThread.subject = "Something for \(state.people[person].name)"
                for turn in 0..<(other == 4 ? 30 : 5) {
                    let time = until - Double((8 - other) * 3_600) + Double(turn * 60 + person) - 10
                    let sender = turn % 2 == 0 ? other : person
                    messageThread.messages.append(
                        Message(
                            id: state.nextID(ids, at: until),
                            sender: sender,
                            text: "\(Self.phrases[(turn + other) % Self.phrases.count]), \(turn)",
                            createdAt: time
                        )
                    )
                }
                state.messageThreads.append(messageThread)
            }
        }
    }
}
