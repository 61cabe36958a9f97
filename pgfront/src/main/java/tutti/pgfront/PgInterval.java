package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Period;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An interval as PostgreSQL has them. Those of the engines have either months or all the rest, as in the SQL standard.
 *
 * @param months with the years in them
 * @param days without the hours of others
 * @param micros the hours and less, in microseconds
 */
record PgInterval(int months, int days, long micros) {
    private static final int MONTHS_PER_YEAR = 12;
    private static final long MICROS_PER_SECOND = 1_000_000;
    private static final long NANOS_PER_MICRO = 1_000;
    private static final Pattern PART = Pattern.compile("\\s*([+-]?\\d{1,9}(?:\\.\\d{1,9})?)\\s*([a-z]+)\\s*",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern CLOCK = Pattern
            .compile("\\s*([+-]?)(\\d{1,6}):(\\d{2})(?::(\\d{2}(?:\\.\\d{1,6})?))?\\s*");

    /** The value in the current row, or null. */
    static @Nullable PgInterval read(ResultSet rows, int column) throws SQLException {
        String type = rows.getMetaData().getColumnTypeName(column).toUpperCase(Locale.ROOT);
        if (type.contains("YEAR") || type.contains("MONTH")) {
            Period period = rows.getObject(column, Period.class);
            return period == null ? null : new PgInterval(Math.toIntExact(period.toTotalMonths()), 0, 0);
        }
        Duration duration = rows.getObject(column, Duration.class);
        if (duration == null) {
            return null;
        }
        int days = type.contains("DAY") ? Math.toIntExact(duration.toDays()) : 0;
        return new PgInterval(0, days, duration.minusDays(days).toNanos() / NANOS_PER_MICRO);
    }

    /** In binary form. */
    static PgInterval read(ByteBuf from) {
        long micros = from.readLong();
        int days = from.readInt();
        return new PgInterval(from.readInt(), days, micros);
    }

    /**
     * In words, such as {@code 1 day 02:00:00}, or in the form of ISO 8601.
     *
     * @throws IllegalArgumentException if it is no interval
     * @throws java.time.DateTimeException likewise
     */
    static PgInterval parse(String text) {
        if (text.startsWith("P") || text.startsWith("-P")) {
            boolean months = text.matches("-?P(-?\\d+Y)?(-?\\d+M)?");
            return months
                    ? new PgInterval(Math.toIntExact(Period.parse(text).toTotalMonths()), 0, 0)
                    : new PgInterval(0, 0, Duration.parse(text).toNanos() / NANOS_PER_MICRO);
        }
        BigDecimal months = BigDecimal.ZERO;
        BigDecimal days = BigDecimal.ZERO;
        BigDecimal seconds = BigDecimal.ZERO;
        int at = 0;
        Matcher part = PART.matcher(text);
        Matcher clock = CLOCK.matcher(text);
        while (at < text.length()) {
            if (clock.region(at, text.length()).lookingAt()) {
                BigDecimal time = new BigDecimal(clock.group(2)).multiply(BigDecimal.valueOf(60))
                        .add(new BigDecimal(clock.group(3))).multiply(BigDecimal.valueOf(60))
                        .add(new BigDecimal(clock.group(4) == null ? "0" : clock.group(4)));
                seconds = clock.group(1).equals("-") ? seconds.subtract(time) : seconds.add(time);
                at = clock.end();
            } else if (part.region(at, text.length()).lookingAt()) {
                BigDecimal count = new BigDecimal(part.group(1));
                switch (part.group(2).toLowerCase(Locale.ROOT).replaceFirst("s$", "")) {
                    case "year" -> months = months.add(count.multiply(BigDecimal.valueOf(MONTHS_PER_YEAR)));
                    case "mon", "month" -> months = months.add(count);
                    case "week" -> days = days.add(count.multiply(BigDecimal.valueOf(7)));
                    case "day" -> days = days.add(count);
                    case "hour" -> seconds = seconds.add(count.multiply(BigDecimal.valueOf(3600)));
                    case "min", "minute" -> seconds = seconds.add(count.multiply(BigDecimal.valueOf(60)));
                    case "sec", "second" -> seconds = seconds.add(count);
                    default -> throw new IllegalArgumentException(part.group(2) + " is no unit");
                }
                at = part.end();
            } else {
                throw new IllegalArgumentException("no interval: " + text);
            }
        }
        try {
            return new PgInterval(months.intValueExact(), days.intValueExact(),
                    seconds.movePointRight(6).longValueExact());
        } catch (ArithmeticException fraction) {
            throw new IllegalArgumentException("fractions of months and days are not known", fraction);
        }
    }

    /**
     * As the engines take it.
     *
     * @throws SQLException with {@code 0A000} if it has months and more
     */
    Object value() throws SQLException {
        if (months == 0) {
            return Duration.ofDays(days).plusNanos(micros * NANOS_PER_MICRO);
        }
        if (days != 0 || micros != 0) {
            throw new SQLException("this node's database has no intervals of both months and days: use two of them",
                    "0A000");
        }
        return Period.of(months / MONTHS_PER_YEAR, months % MONTHS_PER_YEAR, 0);
    }

    void write(ByteBuf out) {
        out.writeLong(micros).writeInt(days).writeInt(months);
    }

    /** As PostgreSQL writes it with {@code IntervalStyle = postgres}. */
    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        add(parts, months / MONTHS_PER_YEAR, "year");
        add(parts, months % MONTHS_PER_YEAR, "mon");
        add(parts, days, "day");
        if (micros != 0 || parts.isEmpty()) {
            long all = Math.abs(micros);
            long seconds = all / MICROS_PER_SECOND;
            String fraction = all % MICROS_PER_SECOND == 0
                    ? ""
                    : String.format(Locale.ROOT, ".%06d", all % MICROS_PER_SECOND).replaceFirst("0+$", "");
            parts.add(String.format(Locale.ROOT, "%s%02d:%02d:%02d%s", micros < 0 ? "-" : "", seconds / 3600,
                    seconds / 60 % 60, seconds % 60, fraction));
        }
        return String.join(" ", parts);
    }

    private static void add(List<String> parts, int count, String unit) {
        if (count != 0) {
            parts.add(count + " " + unit + (count == 1 ? "" : "s"));
        }
    }
}
