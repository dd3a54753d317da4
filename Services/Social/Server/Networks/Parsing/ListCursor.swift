/// The continuation of lists.
enum ListCursor {
    /// Returns the position after this one; nil at the end.
    ///
    /// A page whose next position is its own would be repeated forever, so it is the last one. An empty page may have
    /// items at the next request.
    static func next(_ next: String?, after current: String?, isEmpty: Bool) -> String? {
        next == current && !isEmpty ? nil : next
    }
}
