package tutti.grid.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StoreTest {
    private static final Key KEY = new Key(0, new byte[]{1});

    private final Store store = new Store();
    private final List<Long> read = new ArrayList<>();
    private long bound;

    private void read(long stamp, boolean latest) {
        store.read(KEY, stamp, latest, version -> read.add(version.stamp()));
    }

    private void apply(long stamp) {
        store.apply(KEY, new Version(stamp, new byte[]{(byte) stamp}, Version.NEVER));
    }

    @Test
    void aReadFindsTheNewestVersionOfItsSnapshotOrOfAll() {
        read(10, false);
        apply(5);
        apply(20);
        apply(10);
        read(4, false);
        read(15, false);
        read(15, true);
        assertEquals(List.of(0L, 0L, 10L, 20L), read);
        assertEquals(10, store.stampBelow(KEY, 20));
        assertEquals(5, store.stampBelow(KEY, 10));
    }

    @Test
    void aReadWaitsForWhatMayStillComeIntoItsSnapshot() {
        Store.Writer writer = () -> bound;
        apply(5);
        bound = 8;
        store.announce(KEY, writer);
        read(7, false);
        assertEquals(List.of(5L), read, "what is announced is above");
        read(10, false);
        read(20, true);
        assertEquals(1, read.size());
        bound = 12;
        store.changed(KEY);
        assertEquals(List.of(5L, 5L), read, "its stamp has turned out to be above the first snapshot");
        apply(12);
        store.withdraw(KEY, writer);
        assertEquals(List.of(5L, 5L, 12L), read);
        assertEquals(2, store.waitingReads());
    }

    @Test
    void whatHasExpiredForAllIsDroppedWhenNoSnapshotNeedsItsVersionEither() {
        store.apply(KEY, new Version(5, new byte[]{1}, Version.NEVER));
        store.apply(KEY, new Version(10, new byte[]{1}, 1000));
        store.trim(9, 1000);
        assertEquals(10, store.newest(KEY).stamp(),
                "it may still hide the one before, and be in the way of who has read that");
        store.trim(10, 1000);
        assertEquals(0, store.newest(KEY).stamp());
        assertEquals(0, store.size());
        assertEquals(0, store.bytes());
        assertEquals(1, store.expired());
    }

    @Test
    void whatWasWrittenAgainExpiresWhenTheLastVersionDoes() {
        store.apply(KEY, new Version(10, new byte[]{1}, 1000));
        store.apply(KEY, new Version(20, new byte[]{1}, 3000));
        store.apply(KEY, new Version(15, new byte[]{1}, 1000));
        store.trim(20, 2000);
        assertEquals(20, store.newest(KEY).stamp(), "somebody still finds a value");
        store.trim(20, 3000);
        assertEquals(0, store.size());
        assertEquals(1, store.expired());
    }

    @Test
    void bytesAreThoseOfTheVersionsThatAreThere() {
        apply(5);
        apply(9);
        apply(7);
        assertEquals(6, store.bytes());
        store.trim(9, 0);
        assertEquals(2, store.bytes());
        store.apply(KEY, new Version(12, null, Version.NEVER));
        assertEquals(3, store.bytes());
        store.trim(20, 0);
        assertEquals(0, store.bytes());
    }

    @Test
    void whatNobodyCanReadIsDroppedAndNothingElse() {
        apply(5);
        apply(10);
        apply(20);
        store.trim(15, 0);
        read(15, false);
        read(25, false);
        assertEquals(List.of(10L, 20L), read);
        assertEquals(0, store.stampBelow(KEY, 10), "nobody reads below the horizon");
        store.apply(KEY, new Version(30, null, Version.NEVER));
        store.trim(29, 0);
        read(29, false);
        assertEquals(20L, read.getLast());
        store.trim(30, 0);
        assertEquals(0, store.size(), "a removed key needs no memory");
        read(30, true);
        assertEquals(0L, read.getLast());
    }

    @Test
    void aReaderMayComeBackWhileItIsAnswered() {
        Store.Writer writer = () -> 1;
        store.announce(KEY, writer);
        store.read(KEY, 1, false, _ -> {
            store.announce(KEY, () -> 50);
            apply(40);
        });
        store.withdraw(KEY, writer);
        read(45, false);
        assertEquals(List.of(40L), read);
    }

    @Test
    void floorsCountHowOftenAStampIsNeeded() {
        Floors floors = new Floors();
        assertEquals(9, floors.lowest(9));
        floors.add(3);
        floors.add(3);
        floors.add(7);
        floors.remove(3);
        assertEquals(3, floors.lowest(9));
        floors.remove(3);
        assertEquals(7, floors.lowest(9));
    }
}
