package tutti.wire;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets transactions that load tables and schema changes that every node executes, of clients of the same node, come one after the other: a schema change makes all lose that are under way with it, and what has copied more
 * than can be said again is not run again. So {@code pg_restore -j} loads one table while it makes the indexes of another.
 *
 * <p>
 * <b>The rule.</b> Loads and changes stand in one line. A change waits for the loads before it, and a load for the changes before it; loads do not wait for each other, nor do changes. A load is a transaction that copies rows into a table, from then on or from a TRUNCATE that precedes
 * that; a block that calls functions by their numbers, as libraries do to write large objects; and one that has lost to a schema change, when it is run again. Of the first, one that has looked at anything before waits for nobody: it might see something else later. Of the
 * second, the reads of which nobody knows that they change nothing (a database may have operators of its own) keep none from waiting: what has been said is said again, and if the answers differ, it is lost, as it might have been at its end. A change that has been made before a transaction commits makes it lose no more.
 *
 * <p>
 * <b>Why nobody waits for long.</b> Whoever waits, waits for those before it only, for {@value #PATIENCE_SECONDS} s at most, and a change for no load whose client the engine has waited for for {@value #SILENCE_MILLIS} ms. Who stops waiting is as before: a
 * load may lose. Nothing else depends on it.
 *
 * <p>
 * Safe for use from any thread; what belongs to a session, on its event loop.
 */
final class LoadsAndChanges {
    private static final int SILENCE_MILLIS = 1000;
    private static final int PATIENCE_SECONDS = 60;

    /** Those in line, in their order. Guards itself and its elements' places. */
    private final Set<Place> line = new LinkedHashSet<>();
    private final LongSupplier nanos;
    private volatile int changes;

    private static final class Place {
        private final boolean loads;
        private volatile long heardNanos;
        /** Looks whether its turn has come; null unless somebody waits for that. Guarded by the line. */
        private @Nullable Runnable looks;

        Place(boolean loads, long nanos) {
            this.loads = loads;
            this.heardNanos = nanos;
        }
    }

    /** @param nanos a clock */
    LoadsAndChanges(LongSupplier nanos) {
        this.nanos = nanos;
    }

    private Place enter(boolean loads) {
        Place place = new Place(loads, nanos.getAsLong());
        synchronized (line) {
            line.add(place);
            changes += loads ? 0 : 1;
        }
        return place;
    }

    private void leave(Place place) {
        List<Runnable> next = new ArrayList<>();
        synchronized (line) {
            changes -= line.remove(place) && !place.loads ? 1 : 0;
            for (Place waiting : line) {
                if (waiting.looks != null) {
                    next.add(waiting.looks);
                }
            }
        }
        next.forEach(Runnable::run);
    }

    private boolean mayGo(Place place) {
        long now = nanos.getAsLong();
        synchronized (line) {
            for (Place before : line) {
                if (before == place) {
                    return true;
                }
                boolean silent = before.loads
                        && now - before.heardNanos > TimeUnit.MILLISECONDS.toNanos(SILENCE_MILLIS);
                if (before.loads != place.loads && !silent) {
                    return false;
                }
            }
        }
        return true;
    }

    /** A session's part. On its event loop. */
    final class OfSession {
        private final Session session;
        private @Nullable Place load;
        private @Nullable Place change;
        /** What is done instead of that which is waited for, if the client does not want it any more; null if it waits for nothing, or that is ended elsewhere. */
        private @Nullable Runnable cancelled;

        OfSession(Session session) {
            this.session = session;
        }

        /** Whether a load that begins now would have to wait. */
        boolean mustWait() {
            return load == null && changes > 0;
        }

        /** The open transaction loads a table from now on. */
        void begins() {
            if (load == null) {
                Place mine = enter(true);
                load = mine;
                lookWhetherAtWork(mine);
            }
        }

        /** What the engine does for a client who waits is no silence. */
        private void lookWhetherAtWork(Place mine) {
            if (mine == load) {
                if (!session.cycle().none() && !session.cycle().takesDataOnly()) {
                    heard();
                }
                session.later(SILENCE_MILLIS / 4, () -> session.onLoop(() -> lookWhetherAtWork(mine)));
            }
        }

        /**
         * The transaction that is to begin loads a table; when its turn has come, this is run.
         *
         * @param instead if its client cancels it before that; null if whoever waits sees to that
         */
        void awaitLoad(Runnable then, @Nullable Runnable instead) {
            begins();
            Place mine = load;
            if (mine != null) {
                await(mine, then, instead);
            }
        }

        /** The client has said something. */
        void heard() {
            Place mine = load;
            if (mine != null) {
                mine.heardNanos = nanos.getAsLong();
            }
        }

        /** The transaction is over. */
        void loaded() {
            Place mine = load;
            load = null;
            cancelled = null;
            if (mine != null) {
                LoadsAndChanges.this.leave(mine);
            }
        }

        /**
         * A schema change is to be ordered, when its turn has come.
         *
         * @param instead if its client cancels it before that
         */
        void awaitChange(Runnable then, Runnable instead) {
            Place mine = enter(false);
            change = mine;
            await(mine, then, instead);
        }

        /** It has been executed, or refused. */
        void changed() {
            Place mine = change;
            change = null;
            cancelled = null;
            if (mine != null) {
                LoadsAndChanges.this.leave(mine);
            }
        }

        /**
         * The client cancels what it waits for.
         *
         * @return whether that was the turn of its schema change, or of its load
         */
        boolean cancelled() {
            Runnable instead = cancelled;
            if (instead == null) {
                return false;
            }
            leave();
            instead.run();
            return true;
        }

        /** The session is over. */
        void leave() {
            loaded();
            changed();
        }

        private void await(Place mine, Runnable then, @Nullable Runnable instead) {
            cancelled = instead;
            long untilNanos = nanos.getAsLong() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            synchronized (line) {
                mine.looks = () -> session.onLoop(() -> look(mine, untilNanos, then));
            }
            lookFromTimeToTime(mine, untilNanos, then);
        }

        /** Nobody says that a client is silent. */
        private void lookFromTimeToTime(Place mine, long untilNanos, Runnable then) {
            if (!look(mine, untilNanos, then)) {
                session.later(SILENCE_MILLIS / 4,
                        () -> session.onLoop(() -> lookFromTimeToTime(mine, untilNanos, then)));
            }
        }

        /** @return whether nobody waits any more */
        private boolean look(Place mine, long untilNanos, Runnable then) {
            synchronized (line) {
                if (mine.looks == null || !line.contains(mine)) {
                    return true;
                }
                if (!mayGo(mine) && nanos.getAsLong() - untilNanos < 0) {
                    return false;
                }
                mine.looks = null;
            }
            cancelled = null;
            then.run();
            return true;
        }
    }
}
