package tutti.macro;

import java.time.Duration;
import java.util.Objects;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * How answers are voted on (MacroDDB, section 3.1): every replica executes every call, reads included, at the same place
 * of the order, and what more than half of them answer is the answer. Exceptions agree if they are of the same class.
 *
 * @param excludeAfterFaults after how many faults a replica is left out, at least 1
 * @param slowAfter how long after the majority has been found a replica may take to answer, until it is reported
 * @param same whether two returned values agree; iterators, streams, the text and the {@code values()} of the JDK's
 *            collections also agree if the elements are the same in another order
 */
public record Voting(int excludeAfterFaults, Duration slowAfter,
        BiPredicate<@Nullable Object, @Nullable Object> same) {
    /** Checks the values. */
    public Voting {
        if (excludeAfterFaults < 1) {
            throw new IllegalArgumentException(
                    "excludeAfterFaults is " + excludeAfterFaults + ", it must be 1 or more");
        }
        if (slowAfter.toMillis() < 1) {
            throw new IllegalArgumentException("slowAfter is " + slowAfter + ", it must be 1 ms or more");
        }
    }

    /** Three faults exclude, more than a second late is a fault, values agree if they are equal (arrays: deeply). */
    public static Voting majority() {
        return new Voting(3, Duration.ofSeconds(1), Objects::deepEquals);
    }

    /** A copy that excludes after so many faults. */
    public Voting withExcludeAfterFaults(int faults) {
        return new Voting(faults, slowAfter, same);
    }

    /** A copy that allows a replica to be so much later than the majority. */
    public Voting withSlowAfter(Duration late) {
        return new Voting(excludeAfterFaults, late, same);
    }

    /** A copy that compares values in another way. */
    public Voting withSame(BiPredicate<@Nullable Object, @Nullable Object> agree) {
        return new Voting(excludeAfterFaults, slowAfter, agree);
    }
}
