package import Configuration
import Wire

/// The error of a missing or invalid setting; it ends the start with a message that names the setting.
package struct SettingError: Error, CustomStringConvertible {
    package let description: String

    package init(_ name: String, _ problem: String) {
        description = "\(name) \(problem)"
    }
}

/// Readers of settings, whose names are those of environment variables.
extension ConfigReader {
    package func text(_ name: String) -> String? {
        string(forKey: ConfigKey([name])).flatMap { $0.isEmpty ? nil : $0 }
    }

    package func text(_ name: String, default value: String) -> String {
        text(name) ?? value
    }

    package func secret(_ name: String) throws -> String {
        guard let value = string(forKey: ConfigKey([name]), isSecret: true), !value.isEmpty else {
            throw SettingError(
                name,
                "is not set; `make up` generates it on the first run, otherwise choose a random text"
            )
        }
        return value
    }

    package func number(_ name: String, default value: Int, in range: ClosedRange<Int> = 0...Int.max) throws -> Int {
        guard let text = text(name) else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw SettingError(
                name,
                "is \"\(text)\"; it must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    package func flag(_ name: String, default value: Bool = false) throws -> Bool {
        guard let text = text(name) else { return value }
        switch text.lowercased() {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw SettingError(name, "is \"\(text)\"; it must be 1 or 0")
        }
    }

    /// Returns a comma-separated list of base URLs, each `http://…` or `https://…` without a path.
    package func baseURLs(_ name: String, default value: String) throws -> [String] {
        let urls = text(name, default: value).split(separator: ",").map { part in
            var url = part.drop { $0 == " " }
            while url.last == " " || url.last == "/" { url.removeLast() }
            return String(url)
        }
        guard !urls.isEmpty, urls.allSatisfy({ $0.hasPrefix("http://") || $0.hasPrefix("https://") }) else {
            throw SettingError(name, "must be one or more URLs, like \(value)")
        }
        return urls
    }
}
