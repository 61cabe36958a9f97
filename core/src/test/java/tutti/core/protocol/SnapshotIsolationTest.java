package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.certify.CertificationIndex;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Replicas of {@code si} in one thread, over a list that is the total order and engines that are maps. */
class SnapshotIsolationTest {
    private static WriteSet writes(int... keys) {
        KeySet.Builder builder = new KeySet.Builder();
        for (int key : keys) {
            builder.add(key, KeyKind.UPDATE);
        }
        return new WriteSet(builder.build(), new byte[]{1});
    }

    private static final class Cluster {
        final List<byte[]> order = new ArrayList<>();
        final List<Integer> senders = new ArrayList<>();
        final List<Site> sites = new ArrayList<>();

        Cluster(int size, long window) {
            Set<Integer> all = new java.util.TreeSet<>();
            for (int i = 0; i < size; i++) {
                all.add(i);
            }
            for (int i = 0; i < size; i++) {
                sites.add(new Site(this, i, all, window));
            }
        }

        void settle() {
            for (Site site : sites) {
                site.deliverAll();
            }
        }
    }

    /** A replica with an engine that makes everything visible as soon as it is told to advance. */
    private static final class Site implements ReplicaWorld {
        final Cluster cluster;
        final int node;
        final Protocol protocol;
        final Map<TransactionId, Outcome> answers = new HashMap<>();
        final TreeMap<Long, String> log = new TreeMap<>();
        final ArrayDeque<Long> invisible = new ArrayDeque<>();
        long delivered;
        long visible;
        long serial;

        Site(Cluster cluster, int node, Set<Integer> all, long window) {
            this.cluster = cluster;
            this.node = node;
            this.protocol = new SnapshotIsolation(new SnapshotIsolation.Parameters(node, all, window, 3 << 20, 1, 2),
                    this);
        }

        TransactionId begin() {
            TransactionId id = new TransactionId(node, ++serial);
            protocol.submitted(id, TransactionRequest.Interactive.UNDECLARED);
            return id;
        }

        void deliverNext() {
            ByteBuffer bytes = ByteBuffer.wrap(cluster.order.get((int) delivered));
            protocol.delivered(delivered + 1, cluster.senders.get((int) delivered),
                    SnapshotIsolation.MESSAGES.decode(bytes));
            delivered++;
        }

        void deliverAll() {
            while (delivered < cluster.order.size()) {
                deliverNext();
            }
            makeVisible();
        }

        void makeVisible() {
            while (!invisible.isEmpty()) {
                visible = invisible.remove();
                protocol.committed(visible, visible);
            }
        }

        /** Of very many keys only how many there are, and their hash. */
        private static String written(TransactionId transaction, KeySet keys) {
            return "write " + transaction
                    + (keys.size() > 1000 ? "[" + keys.size() + " keys, " + keys.hashCode() + "]" : keys);
        }

        private void decided(long position, String what) {
            log.put(position, what);
            invisible.add(position);
        }

        @Override
        public void run(TransactionId transaction, Priority priority) {
            throw new AssertionError("si runs everything at once");
        }

        @Override
        public void prepare(TransactionId transaction, WriteSet writes) {
            throw new AssertionError("si prepares nothing");
        }

        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            decided(position, written(transaction, writes.keys()));
        }

        @Override
        public void commit(TransactionId transaction, long position, WriteSet writes) {
            decided(position, written(transaction, writes.keys()));
        }

        @Override
        public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
            decided(position, "barrier " + transaction);
        }

        @Override
        public void skip(long position) {
            decided(position, "skip");
        }

        @Override
        public void abort(TransactionId transaction) {
            // The engine of this test holds no locks.
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            Outcome before = answers.put(transaction, outcome);
            assertEquals(null, before, transaction + " was answered twice");
            if (outcome instanceof Outcome.Committed committed) {
                assertTrue(committed.position() <= visible, "answered before it was visible");
            }
        }

        @Override
        public void order(Message message) {
            ByteBuffer bytes = ByteBuffer.allocate(message.encodedSize());
            message.encode(bytes);
            assertEquals(0, bytes.remaining(), "encodedSize of " + message);
            cluster.order.add(bytes.array());
            cluster.senders.add(node);
        }

        @Override
        public void multicast(Message message, Set<Integer> nodes) {
            throw new AssertionError("si multicasts nothing");
        }

        @Override
        public void timer(long timer, long delayNanos) {
            // Told by the test.
        }
    }

    @Test
    void theFirstOfTwoConcurrentWritersOfOneKeyWinsEverywhere() {
        Cluster cluster = new Cluster(3, 1000);
        TransactionId first = cluster.sites.get(0).begin();
        TransactionId second = cluster.sites.get(1).begin();
        cluster.sites.get(0).protocol.executed(first, new Execution(0, 0, writes(7), ReadSet.EMPTY));
        cluster.sites.get(1).protocol.executed(second, new Execution(0, 0, writes(6, 7), ReadSet.EMPTY));
        cluster.settle();
        assertEquals(new Outcome.Committed(1), cluster.sites.get(0).answers.get(first));
        assertEquals(new Outcome.Aborted(new AbortReason.LostCertification(1, 1)),
                cluster.sites.get(1).answers.get(second));
        assertEquals(cluster.sites.get(0).log, cluster.sites.get(2).log);
        assertEquals("skip", cluster.sites.get(2).log.get(2L));
    }

    /** Of two that each read what the other changes, one at each node: what becomes of the second in the order. */
    private static Outcome secondOfAWriteSkew(boolean firstBringsReads, boolean secondBringsReads) {
        Cluster cluster = new Cluster(2, 1000);
        ReadSet both = new ReadSet.Builder().row(1, 6).row(1, 7).build();
        TransactionId first = cluster.sites.get(0).begin();
        TransactionId second = cluster.sites.get(1).begin();
        cluster.sites.get(0).protocol.executed(first,
                new Execution(0, 0, writes(6), firstBringsReads ? both : ReadSet.EMPTY));
        cluster.sites.get(1).protocol.executed(second,
                new Execution(0, 0, writes(7), secondBringsReads ? both : ReadSet.EMPTY));
        cluster.settle();
        assertEquals(new Outcome.Committed(1), cluster.sites.get(0).answers.get(first));
        assertEquals(cluster.sites.get(0).log, cluster.sites.get(1).log);
        return java.util.Objects.requireNonNull(cluster.sites.get(1).answers.get(second));
    }

    @Test
    void whoBringsWhatItHasReadLosesIfThatIsOlderThanWhatCameBefore() {
        Outcome lost = new Outcome.Aborted(new AbortReason.StaleRead(1));
        assertEquals(lost, secondOfAWriteSkew(true, true));
        assertEquals(lost, secondOfAWriteSkew(false, true), "the other is not serializable");
        assertEquals(new Outcome.Committed(2), secondOfAWriteSkew(true, false));
        assertEquals(new Outcome.Committed(2), secondOfAWriteSkew(false, false));
    }

    @Test
    void ofATableOfWhichVeryMuchWasReadEverythingWas() {
        for (int more : new int[]{0, 1}) {
            Cluster cluster = new Cluster(2, 1000);
            TransactionId first = cluster.sites.get(0).begin();
            cluster.sites.get(0).protocol.executed(first,
                    new Execution(0, 0, new WriteSet(new KeySet.Builder().add(1, KeyKind.REFERENCE)
                            .add(-1, KeyKind.EXCLUSIVE).build(), new byte[]{1}), ReadSet.EMPTY));
            ReadSet.Builder reads = new ReadSet.Builder();
            for (int row = 0; row < SnapshotIsolation.ROWS_PER_TABLE_MAX + more; row++) {
                reads.row(1, 1_000_000 + row);
            }
            TransactionId second = cluster.sites.get(1).begin();
            cluster.sites.get(1).protocol.executed(second, new Execution(0, 0, writes(7), reads.build()));
            cluster.settle();
            assertEquals(more == 0 ? Outcome.Committed.class : Outcome.Aborted.class,
                    cluster.sites.get(1).answers.get(second).getClass());
        }
    }

    @Test
    void aWriterThatHasSeenTheOtherCommits() {
        Cluster cluster = new Cluster(2, 1000);
        TransactionId first = cluster.sites.get(0).begin();
        cluster.sites.get(0).protocol.executed(first, new Execution(0, 0, writes(7), ReadSet.EMPTY));
        cluster.settle();
        TransactionId second = cluster.sites.get(1).begin();
        cluster.sites.get(1).protocol.executed(second, new Execution(1, 1, writes(7), ReadSet.EMPTY));
        cluster.settle();
        assertEquals(new Outcome.Committed(2), cluster.sites.get(1).answers.get(second));
    }

    /** Its engine has compared its change with what was applied, but not with what another has only locked. */
    @Test
    void whoChangesWhatAnotherHasOnlyLockedIsComparedSinceItBegan() {
        for (boolean locks : new boolean[]{false, true}) {
            Cluster cluster = new Cluster(2, 1000);
            TransactionId first = cluster.sites.get(0).begin();
            KeySet.Builder keys = new KeySet.Builder().add(1, KeyKind.UPDATE).add(7, KeyKind.EXCLUSIVE);
            if (locks) {
                keys.add(KeySet.LOCKS, KeyKind.REFERENCE);
            }
            cluster.sites.get(0).protocol.executed(first,
                    new Execution(0, 0, new WriteSet(keys.build(), new byte[]{1}), ReadSet.EMPTY));
            TransactionId second = cluster.sites.get(1).begin();
            // the node goes on as if it were visible, but keeps what the transaction that runs will have to be compared with
            cluster.sites.get(1).deliverNext();
            cluster.sites.get(1).protocol.executed(second, new Execution(0, 1, writes(7), ReadSet.EMPTY));
            cluster.settle();
            assertEquals(
                    locks ? new Outcome.Aborted(new AbortReason.LostCertification(0, 1)) : new Outcome.Committed(2),
                    cluster.sites.get(1).answers.get(second));
            assertEquals(cluster.sites.get(0).log, cluster.sites.get(1).log);
        }
    }

    @Test
    void aVictimThatHasNotAskedIsAnsweredAtOnce() {
        Site site = new Cluster(2, 1000).sites.get(0);
        TransactionId victim = site.begin();
        site.protocol.victim(victim, 5);
        assertEquals(new Outcome.Aborted(new AbortReason.Victim(5)), site.answers.get(victim));
    }

    @Test
    void aVictimThatWasOrderedAndPassesIsAppliedInItsPlace() {
        Cluster cluster = new Cluster(2, 1000);
        Site site = cluster.sites.get(0);
        TransactionId victim = site.begin();
        site.protocol.executed(victim, new Execution(0, 0, writes(7), ReadSet.EMPTY));
        site.protocol.victim(victim, 1);
        cluster.settle();
        assertEquals(new Outcome.Committed(1), site.answers.get(victim));
        assertTrue(site.log.get(1L).startsWith("write"));
    }

    @Test
    void aBarrierAbortsWhatExecutedBeforeItAndMeetsItsKeys() {
        Cluster cluster = new Cluster(2, 1000);
        Site site = cluster.sites.get(0);
        KeySet schema = new KeySet.Builder().add(99, KeyKind.EXCLUSIVE).build();
        TransactionId barrier = new TransactionId(0, 1000);
        site.protocol.submitted(barrier,
                new TransactionRequest.Whole(new byte[]{1, 2}, ConflictClasses.ALL, schema,
                        TransactionRequest.Placement.ALL));
        TransactionId stale = cluster.sites.get(1).begin();
        cluster.sites.get(1).protocol.executed(stale, new Execution(0, 0,
                new WriteSet(new KeySet.Builder().add(99, KeyKind.REFERENCE).build(), new byte[]{1}), ReadSet.EMPTY));
        cluster.settle();
        assertEquals(new Outcome.Committed(1), site.answers.get(barrier));
        assertInstanceOf(Outcome.Aborted.class, cluster.sites.get(1).answers.get(stale));
    }

    /** The order in which a node's transactions come in after those of a nearer one, which has always seen the last that won. */
    private static TransactionId losesTo(Cluster cluster, int near, int far, int times) {
        TransactionId last = null;
        for (int i = 0; i < times; i++) {
            long seen = cluster.sites.get(near).visible;
            asks(cluster, near, seen, 7);
            last = asks(cluster, far, seen, 7);
            cluster.settle();
        }
        return java.util.Objects.requireNonNull(last);
    }

    private static TransactionId asks(Cluster cluster, int node, long seen, int... keys) {
        Site site = cluster.sites.get(node);
        TransactionId transaction = site.begin();
        site.protocol.executed(transaction, new Execution(seen, seen, writes(keys), ReadSet.EMPTY));
        return transaction;
    }

    @Test
    void aNodeThatHasLostARowTwiceInARowComesFirstThereTheNextTime() {
        Cluster cluster = new Cluster(3, 1000);
        Site near = cluster.sites.get(0);
        Site far = cluster.sites.get(1);
        losesTo(cluster, 0, 1, 2);
        TransactionId other = asks(cluster, 2, far.visible, 5);
        TransactionId waits = asks(cluster, 0, far.visible, 6, 7);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, cluster.sites.get(2).answers.get(other), "another row");
        assertEquals(null, near.answers.get(waits), "run again now, it would be refused again");
        TransactionId turn = asks(cluster, 1, far.visible, 7);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, far.answers.get(turn));
        assertInstanceOf(Outcome.Aborted.class, near.answers.get(waits));
        TransactionId again = asks(cluster, 0, near.visible, 7);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, near.answers.get(again));
        assertEquals(near.log, cluster.sites.get(2).log);
    }

    @Test
    void whileAReplicaIsAwayTheOthersKeepSoManyKeysAtMost() {
        Cluster cluster = new Cluster(3, 1_000_000);
        Site here = cluster.sites.get(0);
        Site there = cluster.sites.get(1);
        int each = WriteSet.KEYS_MAX;
        int transactions = (3 << 20) / each + 2;
        for (int i = 0; i < transactions; i++) {
            asks(cluster, 0, here.visible, IntStream.range(i * each, (i + 1) * each).toArray());
            here.deliverAll();
            there.deliverAll();
        }
        CertificationIndex index = ((SnapshotIsolation) here.protocol).index();
        assertEquals(3 << 20, index.live());
        assertEquals(2, index.floor());
        TransactionId late = asks(cluster, 2, 0, 7);
        cluster.settle();
        assertEquals(new Outcome.Aborted(new AbortReason.TooOld(0, 2)), cluster.sites.get(2).answers.get(late));
        assertEquals(here.log.keySet(), there.log.keySet());
        assertEquals("skip", there.log.lastEntry().getValue());
    }

    @Test
    void aNodeThatHasWonInBetweenHasNoTurn() {
        Cluster cluster = new Cluster(2, 1000);
        losesTo(cluster, 0, 1, 1);
        asks(cluster, 1, cluster.sites.get(1).visible, 7);
        cluster.settle();
        losesTo(cluster, 0, 1, 1);
        TransactionId next = asks(cluster, 0, cluster.sites.get(0).visible, 7);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, cluster.sites.get(0).answers.get(next));
    }

    @Test
    void aTurnThatIsNotUsedEndsWhenThoseWhoWaitSaySo() {
        Cluster cluster = new Cluster(2, 1000);
        Site near = cluster.sites.get(0);
        losesTo(cluster, 0, 1, 2);
        TransactionId waits = asks(cluster, 0, near.visible, 7);
        cluster.settle();
        int ordered = cluster.order.size();
        int ticks = 0;
        while (cluster.order.size() == ordered) {
            near.protocol.timer(2);
            ticks++;
        }
        assertEquals(6, ticks, "half a second and a tick");
        assertEquals(null, near.answers.get(waits), "before it is ordered, it is not so everywhere");
        cluster.settle();
        assertInstanceOf(Outcome.Aborted.class, near.answers.get(waits));
        TransactionId again = asks(cluster, 0, near.visible, 7);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, near.answers.get(again));
    }

    @Test
    void ofTwoNodesThatHaveTheirTurnsAtTwoRowsTheOlderTurnGoesFirst() {
        Cluster cluster = new Cluster(3, 1000);
        for (int node = 1; node < 3; node++) {
            for (int i = 0; i < 2; i++) {
                long seen = cluster.sites.get(0).visible;
                asks(cluster, 0, seen, 6 + node);
                asks(cluster, node, seen, 6 + node);
                cluster.settle();
            }
        }
        long seen = cluster.sites.get(0).visible;
        TransactionId younger = asks(cluster, 2, seen, 7, 8);
        TransactionId older = asks(cluster, 1, seen, 7, 8);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, cluster.sites.get(1).answers.get(older));
        assertInstanceOf(Outcome.Aborted.class, cluster.sites.get(2).answers.get(younger));
        seen = cluster.sites.get(2).visible;
        TransactionId again = asks(cluster, 2, seen, 7, 8);
        cluster.settle();
        assertInstanceOf(Outcome.Committed.class, cluster.sites.get(2).answers.get(again));
    }

    @Test
    void whoBeginsFromASnapshotKnowsWhoseTurnItIs() {
        Cluster cluster = new Cluster(2, 1000);
        losesTo(cluster, 0, 1, 2);
        Site restored = new Site(cluster, 0, Set.of(0, 1), 1000);
        restored.protocol.restore(cluster.sites.get(0).protocol.snapshot());
        restored.delivered = cluster.sites.get(0).delivered;
        restored.visible = cluster.sites.get(0).visible;
        cluster.sites.set(0, restored);
        TransactionId waits = asks(cluster, 0, restored.visible, 7);
        cluster.settle();
        assertEquals(null, restored.answers.get(waits));
    }

    static java.util.stream.LongStream seeds() {
        return java.util.stream.LongStream.range(0, 200);
    }

    /**
     * Random transactions at three replicas that deliver and become visible at their own pace, one of which is replaced
     * now and then by one restored from a snapshot: all decide alike, and no two committed transactions that were
     * concurrent wrote the same key.
     */
    @ParameterizedTest
    @MethodSource("seeds")
    void replicasDecideAlikeAndNoUpdateIsLost(long seed) {
        record Ran(TransactionId id, long lastCommitted, Set<Integer> keys) {}
        Random random = new Random(seed);
        Cluster cluster = new Cluster(3, 40 + random.nextInt(100));
        List<Ran> ran = new ArrayList<>();
        for (int step = 0; step < 400; step++) {
            Site site = cluster.sites.get(random.nextInt(3));
            switch (random.nextInt(5)) {
                case 0, 1 -> {
                    TransactionId id = site.begin();
                    Set<Integer> keys = new java.util.TreeSet<>();
                    for (int i = random.nextInt(3); i >= 0; i--) {
                        keys.add(random.nextInt(20));
                    }
                    site.protocol.executed(id, new Execution(site.visible, site.visible,
                            writes(keys.stream().mapToInt(Integer::intValue).toArray()), ReadSet.EMPTY));
                    ran.add(new Ran(id, site.visible, keys));
                    if (random.nextInt(10) == 0) {
                        site.protocol.victim(id, site.visible + 1);
                    }
                }
                case 2 -> {
                    if (site.delivered < cluster.order.size()) {
                        site.deliverNext();
                    }
                }
                case 3 -> site.makeVisible();
                default -> site.protocol.timer(random.nextInt(1, 3));
            }
            if (random.nextInt(60) == 0) {
                Site old = cluster.sites.get(2);
                Site young = new Site(cluster, 2, Set.of(0, 1, 2), windowOf(old));
                old.makeVisible();
                young.protocol.restore(old.protocol.snapshot());
                young.delivered = old.delivered;
                young.visible = old.visible;
                young.serial = old.serial + 1000;
                young.log.putAll(old.log);
                young.answers.putAll(old.answers);
                cluster.sites.set(2, young);
            }
        }
        cluster.settle();
        for (int turnsLeft = 0; turnsLeft < 60; turnsLeft++) {
            // until nobody waits for a turn any more that nobody uses
            for (int tick = 0; tick < 6; tick++) {
                cluster.sites.forEach(site -> site.protocol.timer(2));
            }
            cluster.settle();
        }
        assertEquals(cluster.sites.get(0).log, cluster.sites.get(1).log);
        assertEquals(cluster.sites.get(0).log, cluster.sites.get(2).log);
        Map<TransactionId, Long> committedAt = new HashMap<>();
        cluster.sites.get(0).log.forEach((position, what) -> {
            for (Ran transaction : ran) {
                if (what.startsWith("write " + transaction.id() + "[")) {
                    committedAt.put(transaction.id(), position);
                }
            }
        });
        for (Ran one : ran) {
            for (Ran other : ran) {
                Long p = committedAt.get(one.id());
                Long q = committedAt.get(other.id());
                if (p != null && q != null && q > p && other.lastCommitted() < p) {
                    assertTrue(one.keys().stream().noneMatch(other.keys()::contains),
                            one + " at " + p + " and " + other + " at " + q + " were concurrent");
                }
            }
        }
        for (Ran transaction : ran) {
            Outcome outcome = cluster.sites.get(transaction.id().node()).answers.get(transaction.id());
            if (transaction.id().node() != 2) {
                assertTrue(outcome != null, transaction + " was never answered");
                assertEquals(committedAt.containsKey(transaction.id()), outcome instanceof Outcome.Committed);
            }
        }
    }

    private static long windowOf(Site site) {
        return ((SnapshotIsolation) site.protocol).parameters().windowPositions();
    }
}
