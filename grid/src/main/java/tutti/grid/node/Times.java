package tutti.grid.node;

import java.util.Collection;
import java.util.List;
import tutti.grid.store.Floors;
import tutti.runtime.Clock;

/**
 * By what time this node's transactions judge what has expired.
 *
 * <p>
 * <b>Who decides.</b> The transaction that writes an entry chooses the instant from which on it is absent, from its own time; the instant is
 * a part of what is ordered and committed, beside the value. A transaction is given its time once, when it begins, and what it
 * reads it compares with that: owners only tell what was written. So what a transaction finds depends on the versions that it
 * reads and on its time, never on who answers, and all that the levels promise holds as before: in the serial order each transaction is as if it
 * ran alone, with the time that it was given. Entries do not come back for one node: its time never goes back, whatever its
 * wall clock does. From node to node times differ as wall clocks do, so along the serial order they may go back by that much.
 *
 * <p>
 * <b>What has expired is dropped</b> by each owner when it likes, and nobody can tell. With each heartbeat a node says than which time none of its
 * transactions, open or to come, has an earlier one. An owner drops what has expired at the earliest of all members, itself included: any that may
 * still ask it finds nothing there in either case. Nor does certification miss it: as a removal, it is dropped only below the stamp
 * that nobody needs. Nodes that are no members cannot ask; a clock that is late only makes others keep for longer.
 *
 * <p>
 * <b>Who joins</b> may have a clock that is far behind what was dropped already, at some owners and not at others. Each node that was there before has said a time that was not before any at which something was dropped. So a node
 * that joins begins no transaction before it has heard some of them, and none with an earlier time than the least that these say: the least, so that one clock that is ahead carries nobody with it.
 * Until then it says 0.
 */
final class Times {
    private final Clock clock;
    private final Floors open = new Floors();
    private long latest;
    private volatile boolean known;

    /** @param known whether nothing was dropped before this node was there */
    Times(Clock clock, boolean known) {
        this.clock = clock;
        this.known = known;
    }

    /** Whether transactions may be given a time. */
    boolean isKnown() {
        return known;
    }

    /**
     * What members say in the present view.
     *
     * @param said what those of the others have said who were heard
     * @param others how many there are
     */
    void heard(Collection<Long> said, int others) {
        List<Long> times = said.stream().filter(time -> time > 0).toList();
        // Who has nobody to hear it of, as they have all joined just now, goes by its own clock.
        if (!known && (2 * times.size() > others || said.size() == others)) {
            known = true;
            latest = Math.max(latest, times.stream().mapToLong(Long::longValue).min().orElse(0));
        }
    }

    /**
     * The same without views, of a life that its group takes in anew. Who has welcomed it drops nothing by time before it has said its own; so what others say is not before any instant at which they have dropped something; who says
     * none yet has dropped nothing but what it was given without. The latest counts, of all that are there.
     *
     * @param there how many others are
     * @param members of the grid
     * @param dropped up to when things were dropped that this node was given without
     */
    void heardByAll(Collection<Long> said, int there, int members, long dropped) {
        if (!known && said.size() >= there && 2 * said.size() >= members) {
            known = true;
            latest = Math.max(latest, Math.max(dropped, said.stream().mapToLong(Long::longValue).max().orElse(0)));
        }
    }

    /** The time in milliseconds since 1970, UTC; not before the epoch, and never before what it was. */
    private long now() {
        latest = Math.max(latest, clock.now().toEpochMilli());
        return latest;
    }

    /** A transaction begins: its time. */
    long begin() {
        long now = now();
        open.add(now);
        return now;
    }

    /** A transaction of this time has ended. */
    void ended(long timeMillis) {
        open.remove(timeMillis);
    }

    /** No transaction that is open here, or begins from now on, has an earlier time; 0 if that is not known. Never smaller than before. */
    long earliest() {
        return known ? open.lowest(now()) : 0;
    }
}
