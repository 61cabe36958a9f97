package tutti.eval.calibrate;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a calibration was made from.
 *
 * @param startedAt ISO 8601
 * @param machine what it ran on, in the order to show
 * @param settings how it was made, in the order to show
 * @param transactions that were profiled
 * @param profile of transactions
 * @param losing what transactions take that lose a row
 * @param log what writing costs
 * @param network what the network costs
 * @param waking how long whoever wakes up waits for a processor
 */
record CalibrationResult(String startedAt, Map<String, String> machine, Map<String, String> settings,
        int transactions, Profile profile, LosingProbe losing, LogProbe log, NetworkProbe network, WakingProbe waking) {
    CalibrationResult {
        machine = Collections.unmodifiableMap(new LinkedHashMap<>(machine));
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
    }
}
