import Configuration
import Foundation
import ServiceHost

/// The settings that only photos has.
struct PhotosConfiguration: Sendable {
    /// `PHOTOS_MASK_SHOUTING` (0): texts of capitals and exclamation marks are put into small letters.
    var masksShouting = false
    /// `PHOTOS_MASK_WORDS` (none): words that stars take the place of; comma-separated, or the path of a file with them.
    var maskedWords: [String] = []

    /// `FOLLOWS_MAX_USER` (7,500): how many people one may follow, before 422.
    var maximumFollowsOfUser = 7_500
    /// `HOME_MERGED_FOLLOWERS` (10,000): how many follow somebody whose posts are merged into their home feeds when they
    /// are read, rather than copied.
    var mergedFollowers = 10_000

    init() {}

    init(_ configuration: ConfigReader) throws {
        maximumFollowsOfUser = try configuration.number("FOLLOWS_MAX_USER", default: 7_500, in: 1...100_000)
        mergedFollowers = try configuration.number("HOME_MERGED_FOLLOWERS", default: 10_000, in: 1...1_000_000_000)
        masksShouting = try configuration.flag("PHOTOS_MASK_SHOUTING")
        maskedWords = try Self.words(configuration.text("PHOTOS_MASK_WORDS", default: ""))
    }

    /// What is done to texts before they are kept.
    var mask: TextMask { TextMask(stopsShouting: masksShouting, words: maskedWords) }

    private static func words(_ setting: String) throws -> [String] {
        guard setting.hasPrefix("/") || setting.hasPrefix("./") else { return list(setting) }
        do {
            return list(try String(contentsOf: URL(filePath: setting), encoding: .utf8))
        } catch {
            throw SettingError("PHOTOS_MASK_WORDS", "names the file \(setting), which cannot be read")
        }
    }

    private static func list(_ text: String) -> [String] {
        text.split { $0 == "," || $0.isNewline }.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
