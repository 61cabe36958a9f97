package tutti.core.protocol;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * What a protocol promises to clients and asks of its world, with the values that were chosen for its parameters. Immutable.
 *
 * @param guarantee over engines that guarantee snapshot isolation
 * @param underReadLocks over engines that hold a lock on what was read until the transaction ends; not weaker
 * @param traits what the world must know
 */
public record Claims(Guarantee guarantee, Guarantee underReadLocks, Set<Trait> traits) {
    public Claims {
        if (underReadLocks.compareTo(guarantee) < 0) {
            throw new IllegalArgumentException("claims " + guarantee + ", and less under read locks");
        }
        EnumSet<Trait> copy = EnumSet.noneOf(Trait.class);
        copy.addAll(traits);
        traits = Collections.unmodifiableSet(copy);
    }

    /** The same guarantee over all engines. */
    public static Claims of(Guarantee guarantee, Trait... traits) {
        return new Claims(guarantee, guarantee, Set.copyOf(Arrays.asList(traits)));
    }

    /** The same with one trait more, if a condition holds. */
    public Claims with(Trait trait, boolean condition) {
        if (!condition) {
            return this;
        }
        EnumSet<Trait> more = EnumSet.of(trait);
        more.addAll(traits);
        return new Claims(guarantee, underReadLocks, more);
    }

    /** Whether the world must treat it so. */
    public boolean has(Trait trait) {
        return traits.contains(trait);
    }

    /**
     * Whether some nodes may lack some tables ({@link tutti.core.txn.TablePlacement}): every transaction that changes something is executed by the
     * node of its client and travels as a write set. Where every node, one chosen node or the owner of a log executes instead, that
     * one may lack what is named.
     */
    public boolean tablesMayBePartial() {
        return !has(Trait.WHOLE_ONLY) && !has(Trait.ONE_PRIMARY) && !has(Trait.REQUESTS_OUTLIVE_THEIR_NODE);
    }

    /** Whether locks on what was read make more of it than it is by itself: then it is lost with a session that loses them. */
    public boolean restsOnReadLocks() {
        return underReadLocks != guarantee;
    }
}
