package tutti.sim.world.replica;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.sim.disk.DiskFile;
import tutti.sim.disk.Journal;

/** A replica's snapshots of its protocol, on its disk. */
final class Snapshots {
    /** A protocol's state after a position. */
    record Saved(long position, byte[] state) {}

    private final Journal<Saved> journal;
    private final List<Saved> saved = new ArrayList<>();
    private long durable;

    Snapshots(DiskFile file) {
        journal = new Journal<>(file);
    }

    /** Begins a life of the host. */
    void boot() {
        saved.clear();
        saved.addAll(journal.recover());
        durable = saved.isEmpty() ? 0 : saved.getLast().position;
    }

    void save(long position, byte[] state) {
        Saved one = new Saved(position, state);
        saved.add(one);
        journal.append(one, Math.max(Long.BYTES, state.length));
        journal.sync(() -> durable = Math.max(durable, position));
    }

    /** The newest that is not ahead of a position. */
    @Nullable
    Saved newestUpTo(long position) {
        for (Saved one : saved.reversed()) {
            if (one.position <= position) {
                return one;
            }
        }
        return null;
    }

    /** Likewise, of those that would survive a crash. */
    @Nullable
    Saved newestDurableUpTo(long position) {
        return newestUpTo(Math.min(position, durable));
    }
}
