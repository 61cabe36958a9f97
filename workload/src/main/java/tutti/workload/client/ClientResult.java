package tutti.workload.client;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A run of clients that is over.
 *
 * @param committed transactions whose client was told so
 * @param failed transactions that were rolled back
 * @param unknown transactions whose client was told nothing
 * @param failures by cause; see {@link SqlFailure#cause()}
 * @param seconds how long it took
 * @param failure why the run ended early, if it did
 */
public record ClientResult(long committed, long failed, long unknown, Map<String, Long> failures, double seconds,
        Optional<String> failure) {
    public ClientResult {
        failures = Map.copyOf(failures);
    }

    /** For people. */
    public String text() {
        return committed + " transactions committed, " + failed + " failed, " + unknown + " unknown, causes "
                + new TreeMap<>(failures) + failure.map(why -> "; ended early: " + why).orElse("");
    }
}
