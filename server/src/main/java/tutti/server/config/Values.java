package tutti.server.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.text.NearestWord;

/**
 * Single values of the configuration file: from their notation and back. Sizes are written {@code 64 MiB}, {@code 4 KiB}
 * or as plain bytes; times {@code 500ms}, {@code 10s}, {@code 5min}, {@code 1h}.
 */
final class Values {
    private static final Pattern WITH_UNIT = Pattern.compile("(\\d{1,18})\\s*([A-Za-z]*)");
    private static final Map<String, Long> BYTES = Map.of("", 1L, "B", 1L, "KiB", 1L << 10, "MiB", 1L << 20, "GiB",
            1L << 30, "TiB", 1L << 40);
    private static final Set<Class<?>> SCALARS = Set.of(int.class, long.class, boolean.class, String.class, Path.class,
            Duration.class, HostPort.class, PostgresUrl.class, Map.class, List.class);

    private static final String AUTO = "auto";

    private Values() {}

    static boolean isScalar(Class<?> type) {
        return SCALARS.contains(type);
    }

    /**
     * Reads one value.
     *
     * @param directory that relative paths start from
     * @throws IllegalArgumentException with a reason that follows the key in a sentence, and the valid range
     */
    static Object parse(String text, Schema.Key key, Path directory) {
        Setting setting = key.setting();
        Class<?> type = key.component().getType();
        Object value = switch (type.getSimpleName()) {
            case "int" -> setting.auto() && text.equals(AUTO)
                    ? 0
                    : Math.toIntExact(inRange(wholeNumber(text, setting), key, text));
            case "long" -> inRange(setting.bytes() ? bytes(text, key) : wholeNumber(text, setting), key, text);
            case "boolean" -> switch (text) {
                case "true" -> true;
                case "false" -> false;
                default -> throw new ImpossibleValue("", quoted(text), "valid: true, false");
            };
            case "String" -> text(text, setting);
            case "Path" -> directory.resolve(text).normalize();
            case "Duration" -> duration(text, key);
            case "HostPort" -> checked(text, HostPort::parse);
            case "PostgresUrl" -> checked(text, PostgresUrl::parse);
            default -> throw new IllegalStateException("no notation for " + type);
        };
        return value;
    }

    private interface Parser {
        Object parse(String text);
    }

    private static Object checked(String text, Parser parser) {
        try {
            return parser.parse(text);
        } catch (IllegalArgumentException e) {
            throw new ImpossibleValue("", quoted(text) + ": " + e.getMessage(), "");
        }
    }

    private static String text(String text, Setting setting) {
        List<String> valid = words(setting);
        if (!valid.isEmpty() && !valid.contains(text)) {
            String nearest = NearestWord.near(text, valid);
            throw new ImpossibleValue("", quoted(text),
                    (nearest.isEmpty() ? "" : "did you mean " + nearest + "? ") + "valid: " + String.join(", ", valid));
        }
        if (!setting.pattern().isEmpty() && !text.matches(setting.pattern())) {
            throw new ImpossibleValue("", quoted(text), "must match " + setting.pattern());
        }
        if (text.isEmpty()) {
            throw new ImpossibleValue("", "is empty", "");
        }
        return text;
    }

    private static long wholeNumber(String text, Setting setting) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException _) {
            throw new ImpossibleValue("", quoted(text), "must be a whole number" + range(setting, ", "));
        }
    }

    private static long bytes(String text, Schema.Key key) {
        Matcher matcher = WITH_UNIT.matcher(text);
        if (matcher.matches() && BYTES.containsKey(matcher.group(2))) {
            try {
                return Math.multiplyExact(Long.parseLong(matcher.group(1)), BYTES.get(matcher.group(2)));
            } catch (ArithmeticException _) {
                throw new ImpossibleValue("", quoted(text), "valid: " + range(key.setting(), ""));
            }
        }
        throw new ImpossibleValue("", quoted(text),
                "must be a size such as 4 KiB, 64 MiB, 1 GiB" + range(key.setting(), ", "));
    }

    private static Duration duration(String text, Schema.Key key) {
        Setting setting = key.setting();
        Duration value = duration(text);
        if (value == null) {
            throw new ImpossibleValue("", quoted(text),
                    "must be a time such as 500ms, 10s, 5min, 1h" + range(setting, ", "));
        }
        Duration min = duration(setting.min());
        Duration max = duration(setting.max());
        if ((min != null && value.compareTo(min) < 0) || (max != null && value.compareTo(max) > 0)) {
            throw new ImpossibleValue("", quoted(text), "valid: " + range(setting, ""));
        }
        return value;
    }

    private static @Nullable Duration duration(String text) {
        Matcher matcher = WITH_UNIT.matcher(text);
        if (!matcher.matches() || matcher.group(1).length() > 12) {
            return null;
        }
        long number = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            case "min" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> null;
        };
    }

    private static long inRange(long value, Schema.Key key, String text) {
        Setting setting = key.setting();
        long min = bound(setting.min(), setting, Long.MIN_VALUE);
        long max = bound(setting.max(), setting, Long.MAX_VALUE);
        if (value < min || value > max) {
            throw new ImpossibleValue("", quoted(text), "valid: " + range(setting, ""));
        }
        return value;
    }

    private static long bound(String bound, Setting setting, long none) {
        if (bound.isEmpty()) {
            return none;
        }
        if (!setting.bytes()) {
            return Long.parseLong(bound);
        }
        Matcher matcher = WITH_UNIT.matcher(bound);
        if (!matcher.matches()) {
            throw new IllegalStateException("no size: " + bound);
        }
        return Long.parseLong(matcher.group(1)) * BYTES.get(matcher.group(2));
    }

    /** The only values allowed; empty if there are others. */
    private static List<String> words(Setting setting) {
        return setting.oneOf().valid();
    }

    /** The valid range in words, after {@code before}; empty if there is none. */
    static String range(Setting setting, String before) {
        List<String> words = words(setting);
        if (!words.isEmpty()) {
            return before + String.join(", ", words);
        }
        if (setting.min().isEmpty() && setting.max().isEmpty()) {
            return "";
        }
        return before + setting.min() + " to " + setting.max() + (setting.auto() ? ", or " + AUTO : "");
    }

    private static String quoted(String text) {
        String shown = text.length() > 60 ? text.substring(0, 60) + "…" : text;
        return String.format(Locale.ROOT, "cannot be \"%s\"", shown.replace("\n", "\\n"));
    }
}
