package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

class WiceTest {
    private static Protocol wice(int node) {
        return Protocols.STANDARD.choose(Wice.NAME, Map.of("clusters", "east:0;west:1")).create(node, Set.of(0, 1),
                new IdleReplica());
    }

    private static Message certify(long serial) {
        WriteSet writes = new WriteSet(new KeySet.Builder().add(serial, KeyKind.UPDATE).build(), new byte[]{1});
        return new WiceMessage.Numbered(0, 0, serial,
                new SnapshotIsolation.Certify(new TransactionId(0, serial), 0, 0, 0, writes));
    }

    /** A primary that never moves: who has had the most transactions is of no concern, however many there are. */
    @Test
    void aSnapshotCanBeTakenAfterAnyNumberOfTransactions() {
        Protocol first = wice(1);
        first.delivered(1, 0, certify(1));
        Wice.Snapshot taken = Snapshots.open(first.snapshot(), Wice.Snapshot.class);
        Map<String, Integer> many = new TreeMap<>(Map.of("east", Integer.MAX_VALUE));
        Protocol after = wice(1);
        after.restore(new Wice.Snapshot(taken.handed(), taken.since(), taken.primary(), taken.last(), many,
                List.of(), taken.certification()).bytes());
        after.delivered(2, 0, certify(2));
        assertEquals(2, Snapshots.open(after.snapshot(), Wice.Snapshot.class).handed());
    }
}
