import Foundation

/// What people do on a network.
extension Community {
    /// What is to be said; the network's own rules were checked before.
    struct Draft {
        var title: String?
        var text = ""
        var media: [Attachment] = []
        var place: Place?
        var parent: Int64?
        var original: Int64?
        var room: String?
    }

    @discardableResult
    func publish(_ draft: Draft, by author: Int) -> Post {
        let time = clock.now
        return change { state in
            var post = Post(
                id: state.nextID(ids, at: time),
                author: author,
                title: draft.title,
                text: draft.text,
                createdAt: time
            )
            post.media = draft.media
            post.place = draft.place
            post.parent = draft.parent
            post.original = draft.original
            post.room = draft.room
            state.append(post)
            var notices: [Notice] = []
            if let parent = draft.parent, let place = state.places[parent] {
                state.posts[place].replies += 1
                notices += state.notice(.reply, to: state.posts[place].author, by: author, about: post.id, ids, time)
            }
            if let original = draft.original, let place = state.places[original] {
                state.posts[place].boosts.insert(author)
                notices += state.notice(.boost, to: state.posts[place].author, by: author, about: original, ids, time)
            }
            for name in Self.mentions(in: draft.text) {
                guard let number = state.numbers[name], !notices.contains(where: { $0.recipient == number }) else {
                    continue
                }
                notices += state.notice(.mention, to: number, by: author, about: post.id, ids, time)
            }
            return (post, [.posted(post)] + notices.map(CommunityEvent.noticed))
        }
    }

    /// Likes a post, or no longer does; nil where there is none.
    func like(_ id: Int64, by person: Int, _ likes: Bool = true) -> Post? {
        let time = clock.now
        return change { state in
            guard let place = state.places[id] else { return (nil, []) }
            state.posts[place].dislikes.remove(person)
            guard likes else {
                state.posts[place].likes.remove(person)
                return (state.posts[place], [])
            }
            let isNew = state.posts[place].likes.insert(person).inserted
            let post = state.posts[place]
            guard isNew else { return (post, []) }
            let notices = state.notice(.like, to: post.author, by: person, about: id, ids, time)
            return (post, [.liked(post, by: person)] + notices.map(CommunityEvent.noticed))
        }
    }

    func edit(_ id: Int64, to text: String) -> Post? {
        change { state in
            guard let place = state.places[id] else { return (nil, []) }
            state.posts[place].text = text
            state.posts[place].editedAt = clock.now
            return (state.posts[place], [.edited(state.posts[place])])
        }
    }

    func update(_ id: Int64, _ body: (inout Post) -> Void) -> Post? {
        change { state in
            guard let place = state.places[id] else { return (nil, []) }
            body(&state.posts[place])
            return (state.posts[place], [])
        }
    }

    /// Takes a post away, whose it is.
    func delete(_ id: Int64, by person: Int) -> Post? {
        change { state in
            guard let place = state.places[id], state.posts[place].author == person, let post = state.remove(id) else {
                return (nil, [])
            }
            if let original = post.original, let place = state.places[original] {
                state.posts[place].boosts.remove(person)
            }
            return (post, [.deleted(post)])
        }
    }

    /// Says something in a talk, which is begun where these have none yet.
    func say(_ text: String, media: [Attachment] = [], by sender: Int, to others: [Int]) -> (Talk, Message) {
        let members = Set([sender] + others)
        let time = clock.now
        return change { state in
            let place =
                state.talks.firstIndex { Set($0.members) == members }
                ?? {
                    state.talks.append(Talk(id: state.nextID(ids, at: time), members: [sender] + others))
                    return state.talks.count - 1
                }()
            return state.say(text, media, by: sender, in: place, ids, time)
        }
    }

    /// Answers in a talk; nil where there is none of this person's.
    func say(_ text: String, media: [Attachment] = [], by sender: Int, in talk: Int64) -> (Talk, Message)? {
        let time = clock.now
        return change { state in
            guard let place = state.talks.firstIndex(where: { $0.id == talk && $0.members.contains(sender) }) else {
                return (nil, [])
            }
            let (said, events) = state.say(text, media, by: sender, in: place, ids, time)
            return (said, events)
        }
    }

    func markRead(_ talk: Int64, by person: Int, upTo message: Int64? = nil) {
        change { state in
            guard let place = state.talks.firstIndex(where: { $0.id == talk }) else { return ((), []) }
            let last = message ?? state.talks[place].messages.last?.id ?? 0
            state.talks[place].read[person] = max(state.talks[place].read[person] ?? 0, last)
            return ((), [])
        }
    }

    func markNoticesRead(of person: Int, upTo time: Date) {
        change { state in
            for place in state.notices.indices
            where state.notices[place].recipient == person && state.notices[place].createdAt <= time {
                state.notices[place].isRead = true
            }
            return ((), [])
        }
    }

    /// Tells somebody of something that nobody did, as a test wants it.
    func notify(_ kind: Notice.Kind, to recipient: Int, by actor: Int, about post: Int64?) {
        let time = clock.now
        change { state in
            ((), state.notice(kind, to: recipient, by: actor, about: post, ids, time).map(CommunityEvent.noticed))
        }
    }

    /// The names behind `@` in a text, as far as it is a name anywhere.
    static func mentions(in text: String) -> [String] {
        text.matches(of: /@([A-Za-z0-9_]+)/).map { String($0.1).lowercased() }
    }
}

extension Community.State {
    mutating func notice(
        _ kind: Notice.Kind,
        to recipient: Int,
        by actor: Int,
        about post: Int64?,
        _ ids: IDMaker,
        _ time: Date
    ) -> [Notice] {
        guard recipient != actor else { return [] }
        let notice = Notice(
            id: nextID(ids, at: time),
            kind: kind,
            recipient: recipient,
            actor: actor,
            post: post,
            createdAt: time
        )
        notices.append(notice)
        return [notice]
    }

    fileprivate mutating func say(
        _ text: String,
        _ media: [Attachment],
        by sender: Int,
        in place: Int,
        _ ids: IDMaker,
        _ time: Date
    ) -> ((Talk, Message), [CommunityEvent]) {
        let message = Message(id: nextID(ids, at: time), sender: sender, text: text, createdAt: time, media: media)
        talks[place].messages.append(message)
        return ((talks[place], message), [.said(talks[place], message)])
    }
}
