package tutti.core.protocol.world;

import java.util.Map;
import tutti.core.protocol.Protocols;

/** What a protocol promises about a history, as the test world checks it. */
enum Guarantee {
    /** Every transaction reads a prefix of the order, and none overwrites what it has not seen. */
    SNAPSHOT_ISOLATION,
    /** Besides, a transaction that changes something has seen everything acknowledged before it was submitted. */
    STRONG_SNAPSHOT_ISOLATION,
    /** Every transaction reads what it would have read had it run alone at its position. */
    SERIALIZABILITY;

    /** What the registry claims for a protocol, so that what is claimed is what is checked. */
    static Guarantee claimed(String protocol, Map<String, String> parameters) {
        return switch (Protocols.describe(protocol, parameters).claims().isolation()) {
            case SNAPSHOT_ISOLATION -> SNAPSHOT_ISOLATION;
            case STRONG_SNAPSHOT_ISOLATION -> STRONG_SNAPSHOT_ISOLATION;
            case SERIALIZABILITY -> SERIALIZABILITY;
        };
    }
}
