import Foundation

/// The actions of people on a network.
extension Community {
    /// The content of a new post, already checked against the network's rules.
    struct Draft {
        var title: String?
        var text = ""
        var media: [Attachment] = []
        var location: Location?
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
            post.location = draft.location
            post.parent = draft.parent
            post.original = draft.original
            post.room = draft.room
            state.append(post)
            var notices: [Notice] = []
            if let parent = draft.parent, let index = state.indexByID[parent] {
                state.posts[index].replies += 1
                notices += state.notice(.reply, to: state.posts[index].author, by: author, about: post.id, ids, time)
            }
            if let original = draft.original, let index = state.indexByID[original] {
                state.posts[index].boosts.insert(author)
                notices += state.notice(.boost, to: state.posts[index].author, by: author, about: original, ids, time)
            }
            for name in Self.mentions(in: draft.text) {
                guard let number = state.numbers[name], !notices.contains(where: { $0.recipient == number }) else {
                    continue
                }
                notices += state.notice(.mention, to: number, by: author, about: post.id, ids, time)
            }
            return (post, [.posted(post)] + notices.map(CommunityEvent.notified))
        }
    }

    /// Adds or removes a person's like, or returns nil when the post does not exist.
    func like(_ id: Int64, by person: Int, _ likes: Bool = true) -> Post? {
        let time = clock.now
        return change { state in
            guard let index = state.indexByID[id] else { return (nil, []) }
            state.posts[index].dislikes.remove(person)
            guard likes else {
                state.posts[index].likes.remove(person)
                return (state.posts[index], [])
            }
            let isNew = state.posts[index].likes.insert(person).inserted
            let post = state.posts[index]
            guard isNew else { return (post, []) }
            let notices = state.notice(.like, to: post.author, by: person, about: id, ids, time)
            return (post, [.liked(post, by: person)] + notices.map(CommunityEvent.notified))
        }
    }

    func edit(_ id: Int64, to text: String) -> Post? {
        change { state in
            guard let index = state.indexByID[id] else { return (nil, []) }
            state.posts[index].text = text
            state.posts[index].editedAt = clock.now
            return (state.posts[index], [.edited(state.posts[index])])
        }
    }

    func update(_ id: Int64, _ body: (inout Post) -> Void) -> Post? {
        change { state in
            guard let index = state.indexByID[id] else { return (nil, []) }
            body(&state.posts[index])
            return (state.posts[index], [])
        }
    }

    func delete(_ id: Int64, by person: Int) -> Post? {
        change { state in
            guard let index = state.indexByID[id], state.posts[index].author == person, let post = state.remove(id)
            else {
                return (nil, [])
            }
            if let original = post.original, let index = state.indexByID[original] {
                state.posts[index].boosts.remove(person)
            }
            return (post, [.deleted(post)])
        }
    }

    /// Sends a message to the thread of these people, and creates the thread when they have none.
    func sendMessage(
        _ text: String,
        media: [Attachment] = [],
        by sender: Int,
        to others: [Int]
    ) -> (MessageThread, Message) {
        let members = Set([sender] + others)
        let time = clock.now
        return change { state in
            let index =
                state.messageThreads.firstIndex { Set($0.members) == members }
                ?? {
                    state.messageThreads.append(
                        MessageThread(id: state.nextID(ids, at: time), members: [sender] + others)
                    )
                    return state.messageThreads.count - 1
                }()
            return state.sendMessage(text, media, by: sender, in: index, ids, time)
        }
    }

    /// Sends a message to a thread, or returns nil unless the sender is a member of it.
    func sendMessage(
        _ text: String,
        media: [Attachment] = [],
        by sender: Int,
        in messageThread: Int64
    ) -> (MessageThread, Message)? {
        let time = clock.now
        return change { state in
            guard
                let index = state.messageThreads.firstIndex(where: {
                    $0.id == messageThread && $0.members.contains(sender)
                })
            else {
                return (nil, [])
            }
            let (sent, events) = state.sendMessage(text, media, by: sender, in: index, ids, time)
            return (sent, events)
        }
    }

    func markRead(_ messageThread: Int64, by person: Int, upTo message: Int64? = nil) {
        change { state in
            guard let index = state.messageThreads.firstIndex(where: { $0.id == messageThread }) else {
                return ((), [])
            }
            let last = message ?? state.messageThreads[index].messages.last?.id ?? 0
            state.messageThreads[index].read[person] = max(state.messageThreads[index].read[person] ?? 0, last)
            return ((), [])
        }
    }

    func markNoticesRead(of person: Int, upTo time: Date) {
        change { state in
            for index in state.notices.indices
            where state.notices[index].recipient == person && state.notices[index].createdAt <= time {
                state.notices[index].isRead = true
            }
            return ((), [])
        }
    }

    /// Adds a notice without an action that causes it, for tests.
    func notify(_ kind: Notice.Kind, to recipient: Int, by actor: Int, about post: Int64?) {
        let time = clock.now
        change { state in
            ((), state.notice(kind, to: recipient, by: actor, about: post, ids, time).map(CommunityEvent.notified))
        }
    }

    /// Returns the names after `@` in a text, by a rule that is valid on all networks.
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
        _ ids: IDGenerator,
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

    fileprivate mutating func sendMessage(
        _ text: String,
        _ media: [Attachment],
        by sender: Int,
        in index: Int,
        _ ids: IDGenerator,
        _ time: Date
    ) -> ((MessageThread, Message), [CommunityEvent]) {
        let message = Message(id: nextID(ids, at: time), sender: sender, text: text, createdAt: time, media: media)
        messageThreads[index].messages.append(message)
        return ((messageThreads[index], message), [.messageSent(messageThreads[index], message)])
    }
}
