package tutti.engine.jdbc;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.procedure.Procedures;

/**
 * A call of a procedure in Java, as part of a {@link ClientRequest}. Whatever differs from run to run otherwise is fixed here.
 *
 * @param name of the procedure
 * @param version which of its versions the caller's node has
 * @param submittedMicros when it was handed in, in microseconds since 1970
 * @param seed of its random values
 */
public record JavaCall(String name, String version, long submittedMicros, long seed) {
    private static final int PARTS = 5;

    /**
     * What executors know of procedures.
     *
     * @param registered at this node
     * @param limit how long one may take
     */
    public record Known(Procedures registered, Duration limit) {
        /** None. */
        public static final Known NONE = new Known(Procedures.NONE, Duration.ZERO);
    }

    List<Object> with(String sql) {
        return Arrays.asList(sql, name, version, submittedMicros, seed);
    }

    /** Reads {@link #with}, but for the statement; null if it is nothing of the kind. */
    static @Nullable JavaCall of(List<?> parts) {
        return parts.size() == PARTS && parts.get(1) instanceof String name && parts.get(2) instanceof String version
                && parts.get(3) instanceof Long micros && parts.get(4) instanceof Long seed
                        ? new JavaCall(name, version, micros, seed)
                        : null;
    }
}
