package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Commits;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** A node whose keys are moved to another one. */
class HandoverTest {
    private static final int VALUE_BYTES = 1 << 16;

    private static final class Ignored implements Commits.World {
        @Override
        public void send(int to, Encoded message) {
            // Nobody is there.
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            // Nothing is committed.
        }
    }

    /** All of them at once could be more than a frame holds. */
    @Test
    void versionsOfOneKeyAreSentInPartsAsThoseOfManyAre() {
        GroupOwners groups = new GroupOwners(Set.of(0), 1);
        Store store = new Store();
        GroupCommit commits = new GroupCommit(0, groups, new LamportClock(0), store, 1, 0, new Ignored());
        commits.found(Set.of(3), Configuration.first(List.of(3)));
        assertTrue(groups.layout().isMoving());
        Key key = IntStream.range(0, 100).mapToObj(i -> new Key(0, new byte[]{(byte) i}))
                .filter(one -> groups.isMoved(one, 0, 3)).findFirst().orElseThrow();
        List<Long> stamps = LongStream.rangeClosed(1, 20).boxed().toList();
        stamps.forEach(stamp -> store.apply(key, new Version(stamp, new byte[VALUE_BYTES], Version.NEVER)));
        List<GridMessage.Handed> parts = new ArrayList<>();
        Handover handover = new Handover(0, commits, groups, store, 1,
                (_, part) -> parts.add((GridMessage.Handed) part),
                _ -> true);
        do {
            handover.hand(3, new GridMessage.Hand(groups.layout().number(), parts.isEmpty()));
        } while (!parts.getLast().last());
        parts.forEach(part -> assertTrue(part.copies().size() <= 4, part.copies().size() + " in a part"));
        assertEquals(stamps, parts.stream().flatMap(part -> part.copies().stream())
                .map(copy -> copy.version().stamp()).sorted().toList());
    }
}
