/// The sounds that apps contain.
///
/// They are the tones of the RPAN app (reference of seed rpan). A name is the distinctive part of the file name.
package enum NotificationSound {
    package static let names: Set<String> = [
        "chord", "classy", "clear", "confirmed", "done", "enter", "finale", "glassy", "hello", "mind-you", "news",
        "not-to-miss", "prompt", "question", "read-me", "reminder", "sharp", "swift", "swop", "tickler", "waiting",
        "well-done", "whistle",
    ]

    package static let standard = "chord"

    /// Returns the sound with this name; nil for an unknown name.
    ///
    /// Older apps call the default sound `default`.
    package static func named(_ name: String) -> String? {
        if name == "default" { return standard }
        return names.contains(name) ? name : nil
    }
}
