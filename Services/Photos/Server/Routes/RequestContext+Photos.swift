import Hummingbird
import ServiceHost
import Wire

extension RequestContext {
    /// Returns the post key in the path.
    ///
    /// A malformed id is reported as "not found".
    func post() throws -> PostKey {
        guard let key = PostKey(try path("id")) else { throw Posts.notFound }
        return key
    }

    func comment() throws -> CommentKey {
        guard let number = PublicNumber.read(try path("commentId")) else { throw Comments.notFound }
        return CommentKey(post: try post(), number: number)
    }
}
