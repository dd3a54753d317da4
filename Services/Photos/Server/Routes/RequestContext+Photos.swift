import Hummingbird
import ServiceHost
import Wire

extension RequestContext {
    /// The post that the path names; what can be no post's id is not found.
    func post() throws -> PostKey {
        guard let key = PostKey(try path("id")) else { throw Posts.notFound }
        return key
    }

    /// The comment that the path names.
    func comment() throws -> CommentKey {
        guard let number = PublicNumber.read(try path("commentId")) else { throw Comments.notFound }
        return CommentKey(post: try post(), number: number)
    }
}
