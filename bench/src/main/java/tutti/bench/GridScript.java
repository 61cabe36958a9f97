package tutti.bench;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.grid.api.Serializer;
import tutti.grid.api.Serializers;

/**
 * A transaction of a grid, operation by operation: the same for clients that wait for each answer and for those that are called back. One
 * thread.
 */
final class GridScript {
    /** Of keys, of all workloads. */
    static final Serializer<Object> KEYS = Serializers.compact(Object.class);
    /** Of values. */
    static final Serializer<Object> VALUES = Serializers.compact(Object.class);
    private static final int OPERATIONS = 10;
    private static final int WRITE_PERCENT = 10;

    private final boolean readOnly;
    private final Deque<Operation> operations = new ArrayDeque<>();

    GridScript(boolean readOnly) {
        this.readOnly = readOnly;
    }

    /** What transactions do. */
    enum Workload {
        /** Random keys. */
        RADARGUN,
        /** Orders and payments of one warehouse. */
        TPCC;

        /** The transactions of a client. */
        Source source(int keys, long seed, int client) {
            return this == RADARGUN
                    ? radargun(keys, new SplittableRandom(seed * 31 + client))
                    : new GridTpcc(seed, client);
        }
    }

    /**
     * One operation.
     *
     * @param key is asked for when the operations before have been done
     * @param value what is written, likewise; null if it is a read
     * @param reader told what was read, null if there is nothing
     */
    record Operation(Supplier<Object> key, @Nullable Supplier<Object> value, Consumer<@Nullable Object> reader) {}

    /** Where transactions come from; one for each client. */
    interface Source {
        /** The next one. */
        GridScript next();
    }

    /** Ten operations on random keys, a tenth of them writes and the last one if none has been (Radargun, as in section V-A). */
    private static Source radargun(int keys, SplittableRandom random) {
        return () -> {
            GridScript script = new GridScript(false);
            boolean written = false;
            for (int i = 1; i <= OPERATIONS; i++) {
                int key = random.nextInt(keys);
                if (random.nextInt(100) < WRITE_PERCENT || (i == OPERATIONS && !written)) {
                    long value = random.nextLong();
                    script.write(() -> key, () -> value);
                    written = true;
                } else {
                    script.read(() -> key, _ -> {});
                }
            }
            return script;
        };
    }

    /** Whether it writes nothing. */
    boolean isReadOnly() {
        return readOnly;
    }

    /** One read more. */
    void read(Supplier<Object> key, Consumer<@Nullable Object> reader) {
        operations.add(new Operation(key, null, reader));
    }

    /** One write more. */
    void write(Supplier<Object> key, Supplier<Object> value) {
        operations.add(new Operation(key, value, _ -> {}));
    }

    /** What comes next, when what came before has been done; null if all has. */
    @Nullable
    Operation next() {
        return operations.poll();
    }
}
