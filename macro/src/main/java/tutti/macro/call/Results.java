package tutti.macro.call;

import java.util.function.BiPredicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What is done to the results of an operation.
 *
 * @param detach makes of a result a value that the implementation does not change any more and that can be compared; called
 *            while the implementation stands still; null if results are so already
 * @param present makes of that value what the caller gets, an iterator say; null if it is the same
 * @param alike whether two such values that are not equal say the same all the same, in another order say
 */
record Results(@Nullable UnaryOperator<@Nullable Object> detach, @Nullable UnaryOperator<@Nullable Object> present,
        BiPredicate<@Nullable Object, @Nullable Object> alike) {
    /** Nothing. */
    static final Results PLAIN = new Results(null, null, Results::never);

    /** They are only copied. */
    static Results copied(UnaryOperator<@Nullable Object> copy) {
        return new Results(copy, null, Results::never);
    }

    private static boolean never(@Nullable Object one, @Nullable Object other) {
        return false;
    }
}
