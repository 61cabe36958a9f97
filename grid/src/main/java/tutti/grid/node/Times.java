package tutti.grid.node;

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
 */
final class Times {
    private final Clock clock;
    private final Floors open = new Floors();
    private long latest;

    Times(Clock clock) {
        this.clock = clock;
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

    /** No transaction that is open here, or begins from now on, has an earlier time. Never smaller than before. */
    long earliest() {
        return open.lowest(now());
    }
}
