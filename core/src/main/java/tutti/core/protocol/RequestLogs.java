package tutti.core.protocol;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
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
 * At first, and whenever it is there, a log belongs to its <i>home</i>: all to the first of the {@link Division}'s owners if there is to be one, else
 * one after the other to these in turn.
 *
 * <p>
 * <b>Another division</b> is a function of the ordered prefix like the rest. With it all logs are at home, each in an epoch behind all that there have been:
 * a claim that was on its way then was for a log of the former division, and is void. A home that is missing is succeeded as ever.
 *
 * <p>
 * <b>Replicas that come and go</b> are told at a position, too, so homes are a function of the prefix. Who has come is the home of its share, unless the
 * division names owners; who has gone is none, and is struck from those that are named. A log whose home is another one from there on, or
 * whose owner has gone, is at home, in its next epoch: a claim that was on its way is void. The others stay whose they are.
 */
final class RequestLogs {
    static final int LOGS_MAX = 1 << 16;

    /** All replicas, ascending: the members that decide. */
    private List<Integer> replicas;
    private Division division;
    private OrderedParameters parameters;
    private int[] owners;
    private long[] epochs;

    /**
     * At the beginning of the order.
     *
     * @throws IllegalArgumentException if an owner is no replica
     */
    RequestLogs(Set<Integer> replicas, Division division) {
        this.replicas = replicas.stream().sorted().toList();
        this.division = division;
        this.parameters = division.parameters();
        this.owners = new int[0];
        this.epochs = new long[0];
        if (!this.replicas.containsAll(division.owners())) {
            throw new IllegalArgumentException(
                    "owners are " + division.owners() + ", but the replicas are " + this.replicas);
        }
        begin(0);
    }

    private void begin(long epoch) {
        owners = new int[division.logs()];
        epochs = new long[owners.length];
        Arrays.fill(epochs, epoch);
        Arrays.setAll(owners, this::home);
    }

    private int home(int log) {
        List<Integer> turn = division.owners().isEmpty() ? replicas : division.owners();
        return turn.get(division.oneOwner() ? 0 : log % turn.size());
    }

    OrderedParameters parameters() {
        return parameters;
    }

    /**
     * Somebody's division was delivered: it counts from this position on, unless another one came first, or nobody may have it.
     *
     * @param wanted as of the position of the one that he knew
     * @return whether it counts
     */
    boolean divide(long position, Division wanted) {
        if (wanted.since() != division.since() || !replicas.containsAll(wanted.owners())) {
            return false;
        }
        division = wanted.since(position);
        parameters = division.parameters();
        begin(Arrays.stream(epochs).max().orElse(0) + 1);
        return true;
    }

    /**
     * These are the replicas from this position on.
     *
     * @return whether they were others before
     */
    boolean members(long position, Set<Integer> members) {
        List<Integer> now = members.stream().sorted().toList();
        if (now.equals(replicas)) {
            return false;
        }
        int[] homes = new int[owners.length];
        Arrays.setAll(homes, this::home);
        replicas = now;
        if (!members.containsAll(division.owners())) {
            division = division.ownedBy(position, division.owners().stream().filter(members::contains).toList());
            parameters = division.parameters();
        }
        for (int log = 0; log < owners.length; log++) {
            if (home(log) != homes[log] || !members.contains(owners[log])) {
                owners[log] = home(log);
                epochs[log]++;
            }
        }
        return true;
    }

    /** The replicas among these. */
    Set<Integer> among(Set<Integer> nodes) {
        Set<Integer> here = new TreeSet<>(replicas);
        here.retainAll(nodes);
        return here;
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
     * What a replica is to claim: of the logs whose owner is missing those that fall to it, and those of which it is the home. Whom a log falls to may be so far
     * behind that he does not know it, so at each further look it falls to one more.
     *
     * @param alive believed to be there
     * @param looks how often it was looked before, and an owner was missing
     * @param back whether it is well enough to have its own logs back from owners that are there
     */
    List<Claim> claims(int replica, Set<Integer> alive, int looks, boolean back) {
        List<Claim> claims = new ArrayList<>();
        if (!alive.contains(replica)) {
            return claims;
        }
        List<Integer> there = alive.stream().sorted().toList();
        boolean oneOwner = division.oneOwner();
        for (int log = 0; log < owners.length; log++) {
            int heir = alive.contains(home(log)) ? there.indexOf(home(log)) : oneOwner ? 0 : log % there.size();
            int behindHeir = Math.floorMod(there.indexOf(replica) - heir, there.size());
            boolean missing = !alive.contains(owners[log]);
            boolean returns = back && !oneOwner && behindHeir == 0;
            if (owners[log] != replica && (returns || (missing && behindHeir <= looks))) {
                claims.add(new Claim(log, epochs[log] + 1));
            }
        }
        return claims;
    }

    /** Whether some log's owner is not there. */
    boolean missesOwner(Set<Integer> alive) {
        return Arrays.stream(owners).anyMatch(owner -> !alive.contains(owner));
    }

    /** Whether somebody is to claim something. */
    boolean unsettled(Set<Integer> alive) {
        for (int log = 0; log < owners.length; log++) {
            if (!alive.contains(owners[log])
                    || (!division.oneOwner() && owners[log] != home(log) && alive.contains(home(log)))) {
                return true;
            }
        }
        return false;
    }

    /** Replicas, owners and epochs, as of a position. */
    record Image(List<Integer> replicas, Division division, int[] owners, long[] epochs) {
        static final Schema<Image> SCHEMA = Schema.part("owners of logs", Image.class).of(
                Field.of("replicas", Types.list(Types.u8(0, 255), 256), Image::replicas),
                Field.of("division", Division.SCHEMA, Image::division),
                Field.of("owners", Types.ints(LOGS_MAX), Image::owners),
                Field.of("epochs", Types.longs(LOGS_MAX), Image::epochs), Image::new);
    }

    Image image() {
        return new Image(replicas, division, owners, epochs);
    }

    /**
     * Begins from an image.
     *
     * @throws IllegalArgumentException if it is of an order that began with another division
     */
    void restore(Image image) {
        if (image.division().since() == 0 && !image.division().equals(division)) {
            throw new IllegalArgumentException("a snapshot of an order that began with " + image.division().parameters()
                    .values() + ", but this replica was given " + parameters.values()
                    + ": give it the values with which the cluster began (`protocol-parameters`)");
        }
        replicas = List.copyOf(image.replicas());
        division = image.division();
        parameters = division.parameters();
        owners = image.owners().clone();
        epochs = image.epochs().clone();
    }
}
