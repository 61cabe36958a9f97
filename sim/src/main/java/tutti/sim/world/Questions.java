package tutti.sim.world;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.node.ReplicaNode;
import tutti.node.TransactionOutcome;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.node.Client;
import tutti.sim.world.node.NodeHost;

/** Asks nodes what became of transactions, for clients that were not told: again, and other nodes, until one knows. */
final class Questions {
    private static final Label ASK = Label.of("client", "ask");
    private static final long AGAIN_NANOS = 20 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not know yet. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;

    private final Kernel kernel;
    private final Recording recording;
    private final List<NodeHost> nodes;

    Questions(Kernel kernel, Recording recording, List<NodeHost> nodes) {
        this.kernel = kernel;
        this.recording = recording;
        this.nodes = nodes;
    }

    void ask(TransactionId about, RandomStream random, Consumer<Client.Outcome> told) {
        recording.count("asked");
        new Question(about, random, told).askLater();
    }

    private final class Question implements Completion<TransactionOutcome> {
        private final TransactionId about;
        private final RandomStream random;
        private final Consumer<Client.Outcome> told;
        private int turn;
        private boolean over;

        Question(TransactionId about, RandomStream random, Consumer<Client.Outcome> told) {
            this.about = about;
            this.random = random;
            this.told = told;
        }

        void askLater() {
            int next = ++turn;
            kernel.schedule(random.nextLong(AGAIN_NANOS), ASK, () -> {
                if (next == turn && !over) {
                    ask();
                }
            });
        }

        private void ask() {
            NodeHost node = random.pick(nodes);
            @Nullable
            ReplicaNode replica = node.isReady() ? node.replica() : null;
            if (replica == null) {
                askLater();
                return;
            }
            int asked = ++turn;
            replica.outcome(about, this);
            kernel.schedule(PATIENCE_NANOS, ASK, () -> {
                if (asked == turn && !over) {
                    ask();
                }
            });
        }

        @Override
        public void succeeded(TransactionOutcome outcome) {
            if (over) {
                return;
            }
            recording.count("asked: " + outcome);
            switch (outcome) {
                case COMMITTED -> end(Client.Outcome.COMMITTED);
                case ABORTED -> end(Client.Outcome.ABORTED);
                case UNKNOWN -> end(Client.Outcome.UNKNOWN);
                case IN_PROGRESS -> askLater();
            }
        }

        private void end(Client.Outcome outcome) {
            over = true;
            if (outcome != Client.Outcome.UNKNOWN) {
                recording.told(about, outcome == Client.Outcome.COMMITTED);
            }
            told.accept(outcome);
        }

        @Override
        public void failed(EngineFailure failure) {
            askLater();
        }
    }
}
