package tutti.model;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import tutti.sim.kernel.Distribution;

/**
 * How long a database takes for what, as measured (D5.1, section 2.5).
 *
 * @param cpu processor time of each kind of transaction, on a core of speed 1 (table 2.4)
 * @param log what writing the log takes
 * @param rows what rows cost beside the execution
 * @param client what a transaction takes besides, on its client's side
 * @param losing what one takes that loses a row, where transactions execute statement by statement
 * @param code what real code costs
 */
public record Calibration(Map<RequestKind, Distribution> cpu, Log log, Rows rows, Client client, Losing losing,
        Code code) {
    /**
     * The storage that commits wait for (table 2.5).
     *
     * @param writesPerRow log writes for each row that is written (m), at least 0
     * @param access how long one log write takes (logAccessDelay)
     * @param accessOf how long it takes for kinds of transactions of which that is known; some have more to write than others
     * @param parallelism log writes at a time, at least 1
     * @param shared whether commits that wait are written by one log write together, one at a time, as PostgreSQL's group
     *            commit does; there is no parallelism then, and a commit is one write however many rows it has
     */
    public record Log(double writesPerRow, Distribution access, Map<RequestKind, Distribution> accessOf,
            int parallelism,
            boolean shared) {
        /** Log writes that take equally long for all. */
        public Log(double writesPerRow, Distribution access, int parallelism, boolean shared) {
            this(writesPerRow, access, Map.of(), parallelism, shared);
        }

        public Log {
            accessOf = Map.copyOf(accessOf);
            if (!(writesPerRow >= 0) || parallelism < 1) {
                throw new IllegalArgumentException(
                        "impossible storage: " + writesPerRow + " log writes a row, " + parallelism + " at a time");
            }
        }

        /** How long a log write takes for a kind of transaction. */
        Distribution access(RequestKind kind) {
            return accessOf.getOrDefault(kind, access);
        }

        /** Log writes that so many rows make; whoever writes at all makes one. */
        int writes(int rows) {
            return rows == 0 ? 0 : shared ? 1 : Math.max(1, (int) Math.ceil(writesPerRow * rows));
        }
    }

    /**
     * What a transaction takes on its client's side, where clients run on the database's machine. Nothing where they have
     * machines of their own, as in D5.1, and latency is that inside the database.
     *
     * @param cpu processor time of the client, which it takes from the database
     * @param waiting time in which neither side computes: the network between statements, and waking up
     */
    public record Client(Map<RequestKind, Distribution> cpu, Map<RequestKind, Distribution> waiting) {
        /** Nothing. */
        public static final Client NONE = new Client(Map.of(), Map.of());

        public Client {
            cpu = Map.copyOf(cpu);
            waiting = Map.copyOf(waiting);
        }
    }

    /**
     * What a transaction takes that waits for its first row and loses it, because whoever had it has committed. Looked at only where
     * transactions execute statement by statement; in the at-once form losing takes nothing.
     *
     * @param approach processor time of the database up to where it asks for its first row: what it takes in any case
     * @param approachClient of its client, likewise
     * @param failing processor time of the database from where it has lost up to the end of its rollback
     * @param failingClient of its client, likewise
     * @param failingWaiting time in which neither computes, likewise
     */
    public record Losing(Map<RequestKind, Distribution> approach, Map<RequestKind, Distribution> approachClient,
            Map<RequestKind, Distribution> failing, Map<RequestKind, Distribution> failingClient,
            Map<RequestKind, Distribution> failingWaiting) {
        /** Nothing. */
        public static final Losing NONE = new Losing(Map.of(), Map.of(), Map.of(), Map.of(), Map.of());

        public Losing {
            approach = Map.copyOf(approach);
            approachClient = Map.copyOf(approachClient);
            failing = Map.copyOf(failing);
            failingClient = Map.copyOf(failingClient);
            failingWaiting = Map.copyOf(failingWaiting);
        }
    }

    /**
     * Processor time that the rows of a transaction take, on a core of speed 1.
     *
     * @param applyShare what a write set takes where it is applied, as a share of what its execution took: 0 to 1
     * @param applyNanos in addition, whatever its rows
     * @param applyRowNanos in addition, for each of its rows
     * @param captureRowNanos to capture a row where it is changed, unless every replica executes
     * @param maintenanceRowNanos to execute a maintenance transaction, for each row that it changes
     * @param everywhereNanos at each replica in addition to the execution, if all execute, whatever the rows
     * @param everywhereRowNanos likewise for each row
     */
    public record Rows(double applyShare, long applyNanos, double applyRowNanos, double captureRowNanos,
            double maintenanceRowNanos, long everywhereNanos, double everywhereRowNanos) {
        public Rows {
            if (!(applyShare >= 0 && applyShare <= 1)) {
                throw new IllegalArgumentException("an apply share of " + applyShare + " is not between 0 and 1");
            }
        }

        /** To execute a transaction at its own site, capture included. */
        double executing(Work work) {
            return everywhere(work) + (work.active ? 0 : captureRowNanos * work.rows);
        }

        /** To execute one where every replica does. */
        double everywhere(Work work) {
            return work.cpuNanos + (work.active ? everywhereNanos + everywhereRowNanos * work.rows : 0)
                    + (work.kind == RequestKind.MAINTENANCE ? maintenanceRowNanos * work.rows : 0);
        }

        /** To apply its write set. */
        double applying(Work work) {
            return applyShare * work.cpuNanos + applyNanos + applyRowNanos * work.rows;
        }
    }

    /**
     * What real code costs if it is charged by model: processor time on a core of speed 1.
     *
     * @param messageNanos of a protocol for a message, at least 0
     * @param byteNanos in addition for each of its bytes, at least 0
     * @param eventNanos of a protocol for any other event, at least 0
     * @param packetNanos of group communication for a packet that is sent or received, at least 0
     * @param orderNanos of each member of a modelled sequencer's order for a message: half before it says that it has it, half before
     *            it delivers it; at least 0
     */
    public record Code(long messageNanos, double byteNanos, long eventNanos, long packetNanos, long orderNanos) {}

    public Calibration {
        cpu = Collections.unmodifiableMap(new EnumMap<>(cpu));
        for (RequestKind kind : RequestKind.DRAWN) {
            if (!cpu.containsKey(kind)) {
                throw new IllegalArgumentException("no processor time for " + kind.label());
            }
        }
    }

    /** The same where real code costs nothing, as in a database that is not replicated. */
    public Calibration withoutCode() {
        return new Calibration(cpu, log, rows, client, losing, new Code(0, 0, 0, 0, 0));
    }

    /** Processor time of a kind of transaction. */
    Distribution cpuOf(RequestKind kind) {
        Distribution found = cpu.get(kind);
        if (found == null) {
            throw new IllegalStateException("no processor time for " + kind);
        }
        return found;
    }
}
