package tutti.sim.kernel;

import java.math.BigDecimal;
import java.util.List;

/** Durations in nanoseconds as people write them: {@code 250us}, {@code 1.5s}. The two methods are inverse. */
public final class Nanos {
    /** Nanoseconds of a microsecond. */
    public static final long MICRO = 1_000;
    /** Nanoseconds of a millisecond. */
    public static final long MILLI = 1_000_000;
    /** Nanoseconds of a second. */
    public static final long SECOND = 1_000_000_000;

    private static final List<Unit> UNITS = List.of(new Unit("ns", 1), new Unit("us", MICRO), new Unit("ms", MILLI),
            new Unit("s", SECOND));

    private record Unit(String name, long nanos) {}

    private Nanos() {}

    /** Exact, in the largest unit that leaves a whole part, for example {@code 1.5ms}; 0 is {@code 0s}. */
    public static String text(long nanos) {
        if (nanos == 0) {
            return "0s";
        }
        Unit unit = UNITS.getFirst();
        for (Unit larger : UNITS) {
            if (nanos >= larger.nanos || nanos <= -larger.nanos) {
                unit = larger;
            }
        }
        return BigDecimal.valueOf(nanos).divide(BigDecimal.valueOf(unit.nanos)).stripTrailingZeros().toPlainString()
                + unit.name;
    }

    /**
     * Reads a number followed by ns, us, ms or s.
     *
     * @throws IllegalArgumentException if it is not of that form, is negative, or is finer than a nanosecond
     */
    public static long parse(String text) {
        for (Unit unit : UNITS) {
            if (text.endsWith(unit.name) && number(text, unit)) {
                BigDecimal value = new BigDecimal(text.substring(0, text.length() - unit.name.length()))
                        .multiply(BigDecimal.valueOf(unit.nanos));
                try {
                    return value.longValueExact();
                } catch (ArithmeticException e) {
                    throw new IllegalArgumentException(
                            "duration '" + text + "' is too long or finer than a nanosecond", e);
                }
            }
        }
        throw new IllegalArgumentException(
                "'" + text + "' is no duration: write a number and ns, us, ms or s, like 1.5ms");
    }

    private static boolean number(String text, Unit unit) {
        String digits = text.substring(0, text.length() - unit.name.length());
        return digits.matches("[0-9]{1,18}(\\.[0-9]{1,9})?");
    }
}
