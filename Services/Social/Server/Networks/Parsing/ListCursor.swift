/// Where a list goes on.
enum ListCursor {
    /// The place after this one; nil at the end.
    ///
    /// A page that leads to itself would be shown for ever, so it is the last; but one with nothing on it may have more the
    /// next time it is asked for.
    static func next(_ next: String?, after place: String?, isEmpty: Bool) -> String? {
        next == place && !isEmpty ? nil : next
    }
}
