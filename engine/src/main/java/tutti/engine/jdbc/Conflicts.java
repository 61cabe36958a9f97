package tutti.engine.jdbc;

import java.util.HashMap;
import java.util.Map;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/** Whether two write sets may not both be in one state of the database unless one has seen the other. */
final class Conflicts {
    private Conflicts() {}

    static boolean between(KeySet one, KeySet other) {
        Map<Long, Integer> kinds = new HashMap<>();
        for (int i = 0; i < one.size(); i++) {
            kinds.merge(one.hash(i), 1 << one.kind(i).ordinal(), (a, b) -> a | b);
        }
        for (int i = 0; i < other.size(); i++) {
            Integer met = kinds.get(other.hash(i));
            if (met == null) {
                continue;
            }
            for (KeyKind kind : KeyKind.values()) {
                if ((met & (1 << kind.ordinal())) != 0 && kind.conflictsWith(other.kind(i))) {
                    return true;
                }
            }
        }
        return false;
    }
}
