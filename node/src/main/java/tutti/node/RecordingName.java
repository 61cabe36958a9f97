package tutti.node;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Names of the files that a node records into: by time, so that they sort, and by node. */
final class RecordingName {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss.SSS", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private RecordingName() {}

    /** The name of a file that is begun now, in UTC, to the millisecond. */
    static String of(Instant now, int node, String suffix) {
        return STAMP.format(now) + "-node" + node + suffix;
    }
}
