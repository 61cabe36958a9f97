package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.PassingWorld;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.order.local.LocalOrderGroup;

/** What a replica finds out about its surroundings that cannot be, it says, and does not go on. */
class ReplicaAssertionsTest extends ReplicaTrio {
    /** What the protocol's world is wrapped in. */
    private @Nullable Function<ReplicaWorld, ReplicaWorld> flaw;

    @Override
    Function<ReplicaWorld, Protocol> maker(int node, ChosenProtocol protocol) throws IOException {
        Function<ReplicaWorld, Protocol> maker = super.maker(node, protocol);
        Function<ReplicaWorld, ReplicaWorld> with = node == 2 ? flaw : null;
        return with == null ? maker : world -> maker.apply(with.apply(world));
    }

    private void endsSaying(boolean restartable, String... expected) {
        End end = end(2);
        assertEquals(restartable, end.restartable(), end::toString);
        for (String part : expected) {
            assertTrue(end.cause().getMessage().contains(part), end::toString);
        }
        assertEquals(ReplicaNode.State.FAILED, nodes.get(2).state());
    }

    /** So many that every node has kept a snapshot. */
    private void work() {
        for (int i = 0; i < 3 * SNAPSHOT_POSITIONS; i++) {
            new Client(i % 3, "change " + i, i).committed();
        }
    }

    private void closeNodes() {
        nodes.values().forEach(ReplicaNode::close);
        nodes.clear();
    }

    private List<Path> snapshotsOfNode2() throws IOException {
        try (Stream<Path> all = Files.list(files(2))) {
            return all.filter(file -> file.toString().endsWith(".snapshot")).sorted().toList();
        }
    }

    /** Nodes 0 and 1 begin anew, with another log, and have done at least as much. */
    private void otherCluster() throws IOException {
        closeNodes();
        group = new LocalOrderGroup(machine, ALL);
        for (int node : List.of(0, 1)) {
            engines.remove(node).close();
            try (Stream<Path> all = Files.list(files(node))) {
                for (Path file : all.toList()) {
                    Files.delete(file);
                }
            }
            open("si", node);
        }
        for (int node : List.of(0, 1)) {
            get(nodes.get(node).ready());
        }
    }

    @Test
    void aNodeWhoseSnapshotIsOfAnotherLogDoesNotUseIt() throws IOException {
        openAll("si");
        work();
        otherCluster();
        for (int i = 0; i < 5 * SNAPSHOT_POSITIONS; i++) {
            new Client(i % 2, "other " + i, i).committed();
        }
        List<String> before = engines.get(2).changes();
        open("si", 2);
        endsSaying(false, "this node's snapshot was taken after position", "belongs to another cluster");
        assertEquals(before, engines.get(2).changes());
    }

    @Test
    void aNodeWhoseDatabaseIsOfAnotherLogDoesNotServe() throws IOException {
        openAll("si");
        work();
        for (Path snapshot : snapshotsOfNode2()) {
            Files.delete(snapshot);
        }
        otherCluster();
        open("si", 2);
        endsSaying(false, "which its database held before", "the order has lost what was committed");
        assertFalse(nodes.get(2).ready().isDone() && !nodes.get(2).ready().isCompletedExceptionally());
    }

    @Test
    void aNodeThatHasLostCountOfItsLivesBeginsAnewBehindThem() throws IOException {
        openAll("si");
        new Client(2, "first", 1).committed();
        nodes.get(2).close();
        Files.delete(files(2).resolve("incarnation"));
        assertEquals(1, open("si", 2).incarnation());
        endsSaying(true, "lost count of its lives", "number 1");
        nodes.get(2).close();
        assertEquals(2, openReady("si", 2).incarnation());
        new Client(2, "second", 1).committed();
    }

    @Test
    void aDamagedSnapshotIsNotUsed() throws IOException {
        openAll("si");
        work();
        nodes.get(2).close();
        for (Path snapshot : snapshotsOfNode2()) {
            byte[] bytes = Files.readAllBytes(snapshot);
            bytes[bytes.length / 2] ^= 4;
            Files.write(snapshot, bytes);
        }
        open("si", 2);
        endsSaying(false, "its checksum does not fit", "remove this node's data");
    }

    @Test
    void aSnapshotUnderAnotherPositionsNameIsNotUsed() throws IOException {
        openAll("si");
        work();
        nodes.get(2).close();
        Path newest = snapshotsOfNode2().getLast();
        Files.move(newest, newest.resolveSibling("protocol-1.snapshot"));
        for (Path snapshot : snapshotsOfNode2()) {
            if (!snapshot.endsWith("protocol-1.snapshot")) {
                Files.delete(snapshot);
            }
        }
        open("si", 2);
        endsSaying(false, "the snapshot of position 1 in", "it was taken after position");
    }

    @Test
    void aProtocolThatDecidesAPositionTwiceIsStopped() throws IOException {
        flaw = world -> new PassingWorld(world) {
            @Override
            public void skip(long position) {
                super.skip(position);
                super.skip(position);
            }
        };
        openAllButTheFlawed();
        endsSaying(false, "each is decided once, in order");
    }

    @Test
    void aProtocolThatAnswersAClientTwiceIsStopped() throws IOException {
        flaw = world -> new PassingWorld(world) {
            @Override
            public void answer(TransactionId transaction, Outcome outcome) {
                super.answer(transaction, outcome);
                super.answer(transaction, outcome);
            }
        };
        openAll("si");
        new Client(2, "change", 1).committed();
        endsSaying(false, "which was answered before or never asked");
    }

    private void openAllButTheFlawed() throws IOException {
        for (int node : ALL) {
            open("si", node);
        }
        // Progress is told in messages at which nothing happens.
        new Client(0, "change", 1).committed();
    }
}
