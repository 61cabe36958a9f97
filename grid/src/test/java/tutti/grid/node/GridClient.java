package tutti.grid.node;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/** A client of a node, simulated or real: runs transactions of some random reads and writes, one after the other. On the node's loop. */
final class GridClient {
    /**
     * What it does.
     *
     * @param keys how many there are
     * @param pauseMicrosMax between transactions
     */
    record Habits(IsolationLevel level, int keys, int pauseMicrosMax) {}

    private final int session;
    private final GridNode node;
    private final Habits habits;
    private final RandomStream dice;
    private final LongSupplier nanos;
    private final Witness witness;
    private final Runnable between;
    private int left;
    private boolean done;

    /**
     * One of a node.
     *
     * @param transactions how many it runs
     * @param between done before some transactions, on the node's loop
     */
    GridClient(int session, GridNode node, Habits habits, int transactions, RandomStream dice, LongSupplier nanos,
            Witness witness, Runnable between) {
        this.session = session;
        this.node = node;
        this.habits = habits;
        this.left = transactions;
        this.dice = dice;
        this.nanos = nanos;
        this.witness = witness;
        this.between = between;
    }

    static Key key(int number) {
        return new Key(0, ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
    }

    GridNode node() {
        return node;
    }

    /** Whether it runs no more. */
    boolean isDone() {
        return done;
    }

    /** Runs no more after the present transaction. */
    void stop() {
        left = 0;
    }

    @Override
    public String toString() {
        return "client " + session + " of node " + node.config().self() + ", which has " + left + " left";
    }

    /** When the node is a member, be it for the first time or again. */
    void start() {
        node.whenMember(new GridTransaction.Answer<>() {
            @Override
            public void is(GridNode member) {
                next();
            }

            @Override
            public void failed(GridException why) {
                done = node.ended() != null;
                if (!done) {
                    start();
                }
            }
        });
    }

    private void next() {
        if (left <= 0 || node.ended() != null) {
            done = true;
            return;
        }
        if (!node.isMember()) {
            start();
            return;
        }
        left--;
        if (dice.chance(0.1)) {
            between.run();
        }
        boolean readOnly = dice.chance(0.2);
        GridTransaction transaction = node.begin(habits.level, readOnly);
        witness.begun(transaction.id(), session, nanos.getAsLong(), transaction.beginStamp(), transaction.timeMillis(),
                readOnly);
        if (readOnly && dice.chance(0.3)) {
            scan(transaction);
        } else {
            step(transaction, readOnly, dice.between(1, 6), new HashSet<>());
        }
    }

    /** All keys of a snapshot. */
    private void scan(GridTransaction transaction) {
        transaction.keys(0, new byte[0], new GridTransaction.Answer<>() {
            @Override
            public void is(List<Key> found) {
                witness.found(transaction.id(), found);
                commit(transaction);
            }

            @Override
            public void failed(GridException why) {
                transaction.rollback();
                ended(transaction, why);
            }
        });
    }

    private void step(GridTransaction transaction, boolean readOnly, long steps, Set<Key> written) {
        Key key = key(dice.nextInt(habits.keys));
        if (steps == 0) {
            commit(transaction);
        } else if (!readOnly && dice.chance(0.4)) {
            byte[] value = dice.chance(0.15) ? null : new byte[]{(byte) steps};
            try {
                if (dice.chance(0.4)) {
                    transaction.write(key, value, transaction.after(Duration.ofMillis(dice.between(1, 30))));
                } else {
                    transaction.write(key, value);
                }
            } catch (GridException tooLate) {
                ended(transaction, tooLate);
                return;
            }
            written.add(key);
            witness.wrote(transaction.id(), key);
            node.loop().schedule(dice.between(0, 500) * Nanos.MICRO,
                    () -> step(transaction, readOnly, steps - 1, written));
        } else {
            transaction.read(key, new GridTransaction.Answer<>() {
                @Override
                public void is(GridTransaction.Value value) {
                    if (!written.contains(key)) {
                        witness.read(transaction.id(), key, value.stamp(), value.bytes() != null);
                    }
                    step(transaction, readOnly, steps - 1, written);
                }

                @Override
                public void failed(GridException why) {
                    transaction.rollback();
                    ended(transaction, why);
                }
            });
        }
    }

    private void commit(GridTransaction transaction) {
        transaction.commit(new GridTransaction.Answer<>() {
            @Override
            public void is(Long stamp) {
                witness.ended(transaction.id(), nanos.getAsLong(), stamp, null);
                go();
            }

            @Override
            public void failed(GridException why) {
                ended(transaction, why);
            }
        });
    }

    private void ended(GridTransaction transaction, GridException why) {
        witness.ended(transaction.id(), nanos.getAsLong(), 0, why.reason());
        go();
    }

    private void go() {
        node.loop().schedule(dice.between(0, habits.pauseMicrosMax) * Nanos.MICRO, this::next);
    }
}
