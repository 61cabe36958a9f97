package tutti.sim.world.node;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Order;
import tutti.core.txn.TransactionId;
import tutti.node.ReplicaNode;
import tutti.node.copy.CopyDonor;
import tutti.node.copy.NodeCopySource;
import tutti.node.metrics.NodeMetrics;
import tutti.order.CopiedOrder;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.world.database.LocalTables;
import tutti.sim.world.database.SimEngine;

/** One life of a node: from its start until it stops, fails, or its host crashes. */
final class NodeLife {
    private static final Label CLIENT = Label.of("node", "client");

    private final NodeHost home;
    private final long number;
    private final SimEngine engine;
    private final RandomStream random;
    private final Map<TransactionId, SimulatedSession> clients = new LinkedHashMap<>();
    private @Nullable ReplicaNode replica;
    private @Nullable CopyDonor donor;
    private boolean over;
    private boolean left;

    /**
     * Begins a life.
     *
     * @param number larger than those of former lives
     */
    NodeLife(NodeHost home, long number, SimMachine machine, SimEngine engine) {
        this.home = home;
        this.number = number;
        this.engine = engine;
        this.random = home.host().random("clients " + number);
        machine.background("start", () -> {
            try {
                begin(machine);
            } catch (IOException | RuntimeException cannot) {
                failed(cannot, false);
            } catch (Error defect) {
                // Nobody asks what became of a start. One that was killed has its end elsewhere.
                if (!machine.isGone()) {
                    failed(defect, false);
                }
                throw defect;
            }
        });
    }

    private void begin(SimMachine machine) throws IOException {
        Order order = home.openOrder(machine, number);
        Set<Integer> founders = order.group().founders(home.configuredNodes());
        ReplicaNode made;
        try {
            made = new ReplicaNode(home.replicaSettings(founders), machine, machine.directory(NodeHost.REPLICA),
                    new RecordingOrder(order, new OrderTap()), engine,
                    world -> RecordingProtocol.between(home.node(), home.log(),
                            seam -> home.settings().protocol().create(home.node(), founders, seam),
                            world),
                    NodeMetrics.NONE, new Failures());
            giveCopies(machine, order, made);
        } catch (IOException | RuntimeException cannot) {
            order.close();
            throw cannot;
        }
        // From now on in time with everything else, which the files of its beginning have taken.
        machine.loop("start", home::broken).execute(() -> {
            if (over) {
                made.close();
            } else {
                replica = made;
                made.start();
            }
        });
    }

    /** Where members change, this node gives others copies, as a server's nodes do. */
    private void giveCopies(SimMachine machine, Order order, ReplicaNode made) throws IOException {
        if (home.settings().members().isPresent() && order instanceof CopiedOrder copied) {
            NodeCopySource source = new NodeCopySource(IncomingCopy.STATE, home.node(), made, machine,
                    machine.directory("copies"),
                    (after, taken) -> copied.copy(after, copy -> taken.accept(copy::write)),
                    (_, into) -> home.database().copy(into), NodeHost.ORDER, NodeHost.REPLICA);
            donor = new CopyDonor(home.node(), copied.loop(), machine, source,
                    () -> home.settings().copyBytesPerSecond());
            copied.visitors(donor);
        }
    }

    private final class OrderTap implements RecordingOrder.Tap {
        @Override
        public void started(long after) {
            home.log().started(home.node(), number, home.database().visible(), after);
        }

        @Override
        public long sends() {
            return home.nextMessage();
        }

        @Override
        public void sent(long message) {
            home.log().sent(home.node(), number, message);
        }

        @Override
        public void forgets(long position) {
            home.log().forgets(home.node(), position);
        }

        @Override
        public void delivered(long position, long message) {
            home.log().delivered(home.node(), number, position, message);
        }
    }

    private final class Failures implements ReplicaNode.FailureListener {
        @Override
        public void failed(Throwable cause, boolean restartable) {
            NodeLife.this.failed(cause, restartable);
        }

        @Override
        public void excluded(Throwable cause) {
            if (!over) {
                home.excluded(NodeLife.this, cause);
            }
        }
    }

    private void failed(Throwable cause, boolean restartable) {
        if (over) {
            left = true;
        } else {
            home.failed(this, cause, restartable);
        }
    }

    /** Whether its node takes part in nothing any more. */
    boolean hasLeft() {
        return left;
    }

    /** Whether its node says that it has failed, as far as there is one. */
    boolean knowsOfFailure() {
        return replica == null || replica.state() == ReplicaNode.State.FAILED;
    }

    /** It has failed, and its process ends it. */
    void close() {
        end();
        if (donor != null) {
            donor.close();
        }
        if (replica != null) {
            replica.close();
        }
        engine.close();
    }

    /** It is over: clients are told what they can know. */
    void end() {
        over = true;
        home.log().ended(home.node(), number);
        List.copyOf(clients.values()).forEach(SimulatedSession::nodeIsGone);
    }

    long number() {
        return number;
    }

    /** The clients for whom it commits lose sight of it. */
    void lostSight() {
        List.copyOf(clients.values()).forEach(SimulatedSession::losesSight);
    }

    /** Whether clients lose sight of it once it commits for them. */
    boolean isLostSightOf() {
        return home.isLostSightOf();
    }

    /** A client has lost sight of it because of a fault. */
    void sightLost() {
        home.sightLost();
    }

    @Nullable
    ReplicaNode replica() {
        return replica;
    }

    boolean isReady() {
        return !over && replica != null && replica.state() == ReplicaNode.State.READY;
    }

    /** Whether it serves, and nothing is left to be done. */
    boolean isQuiet() {
        ReplicaNode node = replica;
        return isReady() && node != null && clients.isEmpty() && node.inFlight() == 0
                && node.visiblePosition() == node.deliveredPosition()
                && node.deliveredPosition() == node.orderStatus().lastKnown()
                && node.orderStatus().queuedBytes() == 0;
    }

    void begin(Submission submission, Client client) {
        ReplicaNode node = replica;
        if (node == null) {
            throw new IllegalStateException(home + " does not serve");
        }
        SimulatedSession transaction = new SimulatedSession(this, node, submission, client);
        clients.put(transaction.name(), transaction);
        transaction.begin();
    }

    /** One is run again. */
    void goesOn(SimulatedSession again) {
        clients.put(again.name(), again);
    }

    void forget(SimulatedSession transaction) {
        clients.remove(transaction.name());
    }

    @Nullable
    SimulatedSession client(TransactionId transaction) {
        return clients.get(transaction);
    }

    /** Which tables its database keeps. */
    LocalTables kept() {
        return home.database().kept();
    }

    WorldLog log() {
        return home.log();
    }

    SimEngine engine() {
        return engine;
    }

    RandomStream random() {
        return random;
    }

    Distribution statement() {
        return home.settings().statement();
    }

    /** Does something after a while, if this life lasts so long. */
    void later(long nanos, Runnable action) {
        home.host().after(nanos, CLIENT, () -> {
            if (!over) {
                action.run();
            }
        });
    }

    @Override
    public String toString() {
        return replica + ", open " + clients.values() + ", " + engine
                + (replica == null ? "" : ", " + replica.orderStatus());
    }
}
