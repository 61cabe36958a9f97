package tutti.core.protocol;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import tutti.core.protocol.HybridMessage.Claim;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.ConflictClasses;

/**
 * Which replica owns which request log, under {@link Hybrid}. A conflict class belongs to one log. The owners change by ordered
 * messages only, so all replicas know the same ones at the same position: a claim counts if it is for the epoch behind the
 * log's present one, so that of rivals the first in the order wins and the others' claims are void. For one thread at a time.
 *
 * <p>
 * At first, and whenever it is there, a log belongs to its <i>home</i>: all to the lowest replica if there is one owner, else
 * one after the other to the replicas in turn.
 */
final class RequestLogs {
    static final int LOGS_MAX = 1 << 16;

    /** All replicas, ascending. */
    private final int[] replicas;
    private final boolean oneOwner;
    private int[] owners;
    private long[] epochs;

    /**
     * At the beginning of the order.
     *
     * @param count how many logs there are
     * @param oneOwner whether one replica owns all of them
     */
    RequestLogs(Set<Integer> replicas, int count, boolean oneOwner) {
        this.replicas = replicas.stream().mapToInt(Integer::intValue).sorted().toArray();
        this.oneOwner = oneOwner;
        this.owners = new int[count];
        this.epochs = new long[count];
        for (int log = 0; log < count; log++) {
            owners[log] = home(log);
        }
    }

    private int home(int log) {
        return oneOwner ? replicas[0] : replicas[log % replicas.length];
    }

    /**
     * Who executes a request: the owner of the lowest of its logs. Every replica must come to the same one, or two execute
     * in vain what one could.
     */
    int executor(ConflictClasses classes) {
        int lowest = classes.all() ? 0 : owners.length - 1;
        for (int i = 0; i < classes.size(); i++) {
            lowest = Math.min(lowest, (int) Long.remainderUnsigned(classes.hash(i), owners.length));
        }
        return owners[lowest];
    }

    /** A claim was delivered: the log changes hands, unless another one came first. */
    void take(Claim claim, int claimant) {
        if (claim.log() < owners.length && claim.epoch() == epochs[claim.log()] + 1) {
            epochs[claim.log()]++;
            owners[claim.log()] = claimant;
        }
    }

    /**
     * What a replica is to claim: of the logs whose owner is missing those that fall to it, and those of which it is the home.
     *
     * @param alive believed to be there
     * @param back whether it is well enough to have its own logs back from owners that are there
     */
    List<Claim> claims(int replica, Set<Integer> alive, boolean back) {
        List<Claim> claims = new ArrayList<>();
        if (!alive.contains(replica)) {
            return claims;
        }
        int[] there = alive.stream().mapToInt(Integer::intValue).sorted().toArray();
        for (int log = 0; log < owners.length; log++) {
            int heir = alive.contains(home(log)) ? home(log) : there[oneOwner ? 0 : log % there.length];
            boolean missing = !alive.contains(owners[log]);
            if (heir == replica && owners[log] != replica && (missing || (back && !oneOwner))) {
                claims.add(new Claim(log, epochs[log] + 1));
            }
        }
        return claims;
    }

    /** Whether somebody is to claim something. */
    boolean unsettled(Set<Integer> alive) {
        for (int log = 0; log < owners.length; log++) {
            if (!alive.contains(owners[log]) || (!oneOwner && owners[log] != home(log) && alive.contains(home(log)))) {
                return true;
            }
        }
        return false;
    }

    /** Owners and epochs, as of a position. */
    record Image(int[] owners, long[] epochs) {
        static final Schema<Image> SCHEMA = Schema.part("owners of logs", Image.class).of(
                Field.of("owners", Types.ints(LOGS_MAX), Image::owners),
                Field.of("epochs", Types.longs(LOGS_MAX), Image::epochs), Image::new);
    }

    Image image() {
        return new Image(owners, epochs);
    }

    /**
     * Begins from an image.
     *
     * @throws IllegalArgumentException if it is of another number of logs
     */
    void restore(Image image) {
        if (image.owners().length != owners.length || image.epochs().length != epochs.length) {
            throw new IllegalArgumentException("a snapshot of " + image.owners().length + " request logs, but this"
                    + " replica has " + owners.length + ": give all the same parameter logs");
        }
        owners = image.owners().clone();
        epochs = image.epochs().clone();
    }
}
