import Foundation

/// The page on which a person allows an app access, with a button for each person.
///
/// `&as=ana` in the address chooses a person without a browser.
struct ConsentPage {
    let network: String
    let app: String
    let people: [Person]
    /// The parameters of the authorization request, which the form sends again with the decision.
    let fields: [(name: String, value: String)]

    /// Returns the decision: nil when there is none yet, otherwise the person who allows access, or a nested nil for
    /// denial.
    static func decision(_ request: NetworkRequest, among community: Community) -> Person?? {
        guard let name = request["as"] else { return nil }
        return .some(community.person(named: name))
    }

    var html: String {
        let hidden = fields.filter { $0.name != "as" }.map { field in
            "<input type=\"hidden\" name=\"\(Self.escaped(field.name))\" value=\"\(Self.escaped(field.value))\">"
        }
        let buttons = people.prefix(12).map { person in
            "<button name=\"as\" value=\"\(person.name)\">\(person.displayName)</button>"
        }
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>\(network)</title>
            <meta name="viewport" content="width=device-width"><style>\(Self.style)</style>
            <h1>\(network)</h1><p>\(Self.escaped(app)) wants access to your account. Who are you?</p>
            <form method="post">\(hidden.joined())\(buttons.joined())<button name="as" value="-">Deny</button></form></html>
            """
    }

    private static let style = """
        :root { color-scheme: light dark; font: 1rem system-ui, sans-serif; }
        body { max-width: 30rem; margin: 4rem auto; padding: 0 1rem; }
        form { display: grid; grid-template-columns: repeat(2, 1fr); gap: .6rem; margin-top: 1.5rem; }
        button { padding: .7rem; font: inherit; border: 1px solid #8888; border-radius: .6rem; cursor: pointer; }
        button[value="-"] { grid-column: span 2; border-color: transparent; background: none; }
        """

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    static func url(_ base: String, _ fields: [(name: String, value: String?)]) -> String {
        let query = fields.compactMap { field in field.value.map { "\(field.name)=\(PercentCoding.encode($0))" } }
        return base + (base.contains("?") ? "&" : "?") + query.joined(separator: "&")
    }
}

/// Percent-encoding of RFC 3986, which leaves only letters, digits and `-._~`.
enum PercentCoding {
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(Character(Unicode.Scalar(byte)))
            default: encoded += String(format: "%%%02X", byte)
            }
        }
        return encoded
    }
}
