/// The sounds that apps have with them.
///
/// They are the tones of the RPAN app (reference of seed rpan); a name is without what the file is called beside it.
package enum NotificationSound {
    package static let names: Set<String> = [
        "chord", "classy", "clear", "confirmed", "done", "enter", "finale", "glassy", "hello", "mind-you", "news",
        "not-to-miss", "prompt", "question", "read-me", "reminder", "sharp", "swift", "swop", "tickler", "waiting",
        "well-done", "whistle",
    ]

    /// What is heard where nobody has chosen.
    package static let standard = "chord"

    /// The sound of this name; nil where there is none.
    ///
    /// Older apps call the standard one `default`.
    package static func named(_ name: String) -> String? {
        if name == "default" { return standard }
        return names.contains(name) ? name : nil
    }
}
