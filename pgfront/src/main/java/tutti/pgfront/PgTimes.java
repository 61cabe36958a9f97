package tutti.pgfront;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Dates and times as clients write them: ISO 8601, with a blank or a T, with or without offset. */
final class PgTimes {
    private static final Pattern DATE = Pattern.compile("(\\d{4,6})-(\\d{1,2})-(\\d{1,2})");
    private static final Pattern TIME = Pattern
            .compile("(\\d{1,2}):(\\d{2})(?::(\\d{2})(?:\\.(\\d{1,9}))?)?\\s*(Z|z|[+-]\\d{2}(?::?\\d{2}){0,2})?");

    private PgTimes() {}

    private record Parts(LocalTime time, String offset) {}

    static LocalDate date(String text) {
        Matcher matcher = DATE.matcher(text);
        if (!matcher.lookingAt()) {
            throw new DateTimeException("not a date: " + text);
        }
        return LocalDate.of(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)),
                Integer.parseInt(matcher.group(3)));
    }

    private static Parts parts(String text) {
        Matcher matcher = TIME.matcher(text);
        if (!matcher.matches()) {
            throw new DateTimeException("not a time: " + text);
        }
        String fraction = matcher.group(4) == null ? "" : matcher.group(4);
        return new Parts(LocalTime.of(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)),
                matcher.group(3) == null ? 0 : Integer.parseInt(matcher.group(3)),
                Integer.parseInt((fraction + "000000000").substring(0, 9))),
                matcher.group(5) == null ? "" : matcher.group(5));
    }

    /** What follows the date; midnight if nothing does. */
    private static String timePart(String text) {
        Matcher matcher = DATE.matcher(text);
        int end = matcher.lookingAt() ? matcher.end() : 0;
        String rest = text.substring(end).strip();
        String time = rest.startsWith("T") || rest.startsWith("t") ? rest.substring(1) : rest;
        return time.isEmpty() ? "00:00" : time;
    }

    static LocalTime time(String text) {
        return parts(timePart(text)).time();
    }

    static OffsetTime offsetTime(String text, ZoneId zone) {
        Parts parts = parts(timePart(text));
        ZoneOffset offset = parts.offset().isEmpty()
                ? OffsetDateTime.now(zone).getOffset()
                : offset(parts.offset());
        return parts.time().atOffset(offset);
    }

    /** Without its offset, which PostgreSQL ignores too. */
    static LocalDateTime timestamp(String text) {
        return date(text).atTime(time(text));
    }

    static OffsetDateTime offsetTimestamp(String text, ZoneId zone) {
        Parts parts = parts(timePart(text));
        LocalDateTime local = date(text).atTime(parts.time());
        return parts.offset().isEmpty()
                ? local.atZone(zone).toOffsetDateTime()
                : local.atOffset(offset(parts.offset()));
    }

    private static ZoneOffset offset(String text) {
        return text.equalsIgnoreCase("Z") ? ZoneOffset.UTC : ZoneOffset.of(text);
    }
}
