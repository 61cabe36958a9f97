package tutti.sim.world;

import java.util.List;
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
final class OutcomeQuestions {
    /** Whoever asked. */
    interface Asker {
        /** @param shown what the node that knew shows by now, if the transaction has committed; otherwise 0 */
        void told(Client.Outcome outcome, long shown);
    }

    private static final Label ASK = Label.of("client", "ask");
    private static final long AGAIN_NANOS = 20 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not know yet. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;

    private final Kernel kernel;
    private final Recording recording;
    private final List<NodeHost> nodes;

    OutcomeQuestions(Kernel kernel, Recording recording, List<NodeHost> nodes) {
        this.kernel = kernel;
        this.recording = recording;
        this.nodes = nodes;
    }

    void ask(TransactionId about, RandomStream random, Asker asker) {
        recording.count("asked");
        new Question(about, random, asker).askLater();
    }

    private final class Question {
        private final TransactionId about;
        private final RandomStream random;
        private final Asker asker;
        private int turn;
        private boolean over;

        Question(TransactionId about, RandomStream random, Asker asker) {
            this.about = about;
            this.random = random;
            this.asker = asker;
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
            replica.outcome(about, new Completion<>() {
                @Override
                public void succeeded(TransactionOutcome outcome) {
                    answered(replica, outcome);
                }

                @Override
                public void failed(EngineFailure failure) {
                    askLater();
                }
            });
            kernel.schedule(PATIENCE_NANOS, ASK, () -> {
                if (asked == turn && !over) {
                    ask();
                }
            });
        }

        private void answered(ReplicaNode replica, TransactionOutcome outcome) {
            if (over) {
                return;
            }
            recording.count("asked: " + outcome);
            switch (outcome) {
                case COMMITTED -> replica.await(0, new Completion<>() {
                    @Override
                    public void succeeded(Long shown) {
                        end(Client.Outcome.COMMITTED, shown);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        askLater();
                    }
                });
                case ABORTED -> end(Client.Outcome.ABORTED, 0);
                case UNKNOWN -> end(Client.Outcome.UNKNOWN, 0);
                case IN_PROGRESS -> askLater();
            }
        }

        private void end(Client.Outcome outcome, long shown) {
            if (over) {
                return;
            }
            over = true;
            if (outcome != Client.Outcome.UNKNOWN) {
                recording.told(about, outcome == Client.Outcome.COMMITTED);
            }
            asker.told(outcome, shown);
        }
    }
}
