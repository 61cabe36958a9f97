package tutti.core.protocol;

import java.util.List;
import tutti.core.certify.CertificationIndex;

/** Parameters, and words of them, that several protocols have. */
final class CommonParameters {
    static final Parameter.Count WINDOW = new Parameter.Count("window", 1, CertificationIndex.SPAN_MAX / 2, 1_000_000,
            "positions",
            "How far back a transaction may have executed before it is aborted as too old; bounds the memory that "
                    + "certification takes while a replica is away.");
    static final Parameter.Count WINDOW_KEYS = new Parameter.Count("window-keys", 1, 1 << 26, 3 << 20, "keys",
            "How many keys certification remembers at most, whatever the window: 40 bytes each, twice that for moments. A transaction that began"
                    + " before what is remembered is aborted as too old.");
    static final Parameter.Time PROGRESS_INTERVAL = delay("progress-interval", 1_000_000_000L,
            "How often a replica that has nothing else to say tells the others how far it has come, so that "
                    + "certification may forget.");
    static final Parameter.Time RELEASE_DELAY = delay("release-delay", 1_000_000_000L,
            "How long a transaction whose replica is gone keeps its places before its release is asked for again.");

    private static final String SERIALIZABLE = "serializable";

    private CommonParameters() {}

    /** After how many losses a node has its turn. */
    static Parameter.Count turns(int normal) {
        return new Parameter.Count("turns", 0, 1_000, normal, "losses",
                "After how many losses of a row in a row a node comes first there, so that a far or slow one does not starve; 0: never.");
    }

    /** A time of 1 ms to 1 h. */
    static Parameter.Time delay(String name, long normalNanos, String description) {
        return new Parameter.Time(name, 1_000_000L, 3_600_000_000_000L, normalNanos, description);
    }

    /** Snapshot isolation or serializability. */
    static Parameter.Choice isolation(String description) {
        return new Parameter.Choice("isolation", List.of("snapshot", SERIALIZABLE), description);
    }

    /** Whether serializability was chosen. */
    static boolean serializable(ParameterValues values, Parameter.Choice isolation) {
        return values.of(isolation).equals(SERIALIZABLE);
    }

    /** The guarantee that was chosen. */
    static Guarantee guarantee(ParameterValues values, Parameter.Choice isolation) {
        return serializable(values, isolation) ? Guarantee.SERIALIZABILITY : Guarantee.SNAPSHOT_ISOLATION;
    }
}
