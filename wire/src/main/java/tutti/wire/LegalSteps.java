package tutti.wire;

import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Which state may follow which, of one kind of object; checked at every step. Immutable.
 *
 * @param <S> the states
 */
final class LegalSteps<S extends Enum<S>> {
    private final String what;
    private final Map<S, Set<S>> next;

    /**
     * Steps between states.
     *
     * @param what has them, for the error
     * @param next the states that may follow one, which itself always may
     */
    LegalSteps(String what, Class<S> states, Function<S, Set<S>> next) {
        this.what = what;
        this.next = new EnumMap<>(states);
        for (S state : states.getEnumConstants()) {
            this.next.put(state, next.apply(state));
        }
    }

    /**
     * The state after a step.
     *
     * @throws IllegalStateException if the step is not legal
     */
    S step(S from, S to) {
        if (from != to && !next.getOrDefault(from, Set.of()).contains(to)) {
            throw new IllegalStateException(what + " cannot go from " + from + " to " + to);
        }
        return to;
    }
}
