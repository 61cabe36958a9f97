package tutti.wire;

import java.util.Map;

/**
 * What a session's texts are written in, as its engine reports it: whether backslashes in plain strings are characters like any
 * other, and the encoding. On the session's event loop.
 */
final class TextSettings {
    private boolean standardStrings;
    private boolean utf8;

    /** As the engine reported when the session began. */
    TextSettings(Map<String, String> parameters) {
        standardStrings = !"off".equals(parameters.get("standard_conforming_strings"));
        utf8 = "UTF8".equals(parameters.get("client_encoding"));
    }

    /** The engine reports a parameter. */
    void reported(String name, String value) {
        if (name.equals("standard_conforming_strings")) {
            standardStrings = !value.equals("off");
        } else if (name.equals("client_encoding")) {
            utf8 = value.equals("UTF8");
        }
    }

    /** Whether texts are in UTF-8, both ways. */
    boolean utf8() {
        return utf8;
    }

    boolean standardStrings() {
        return standardStrings;
    }

    /** Whether names in a text can be told: it is in UTF-8, or nothing but ASCII. */
    boolean understood(byte[] text) {
        if (utf8) {
            return true;
        }
        for (byte b : text) {
            if (b < 0) {
                return false;
            }
        }
        return true;
    }
}
