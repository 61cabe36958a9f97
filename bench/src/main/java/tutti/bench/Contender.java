package tutti.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import tutti.workload.tpcc.TpccDatabase;

/**
 * One of the systems that are compared: loaded once, then started for each measurement and stopped after it, so that only
 * one contender's processes exist at a time. What it holds stays from one measurement to the next.
 */
interface Contender {
    /** Which one it is. */
    Kind kind();

    /** Starts it for the first time, without any rows; its caller loads it and closes it. */
    Running startEmpty() throws IOException, SQLException, InterruptedException;

    /** It has been loaded and closed: makes what else the first measurement needs. */
    void loaded() throws IOException;

    /** Starts its processes and returns when it takes transactions. */
    Running start() throws IOException, SQLException, InterruptedException;

    /** A contender whose processes are there. Methods may be called from one thread at a time, {@link #close} from any. */
    interface Running extends AutoCloseable {
        /** Where terminals work, in turns. */
        List<TpccDatabase> databases();

        /** All copies of the database, whether terminals work there or not, except those that take no writes. */
        List<TpccDatabase> copies();

        /** The processes that, with their descendants, are the contender. */
        List<Long> processes();

        /** The same, those together that would run on one machine. */
        default List<List<Long>> machines() {
            return processes().stream().map(List::of).toList();
        }

        /** Waits until all copies hold everything that was acknowledged. */
        void settle() throws SQLException;

        /** Stops all processes; idempotent. */
        @Override
        void close() throws IOException;
    }

    /** The contenders of the comparison. */
    enum Kind {
        /** What everything is compared with. */
        A("PostgreSQL, synchronous_commit=on", 0),
        /** What Tutti itself costs, without other copies. */
        B("Tutti, one node", 1),
        /** What copies cost where all work is done at one of them. */
        C("Tutti, three nodes, terminals at one", 3),
        /** What they cost where work is done everywhere. */
        D("Tutti, three nodes, terminals at all", 3),
        /** What PostgreSQL's own copies cost. */
        E("PostgreSQL, two synchronous standbys", 0),
        /** What it costs to pass messages on and do nothing else. */
        F("PostgreSQL behind PgBouncer", 0);

        private final String description;
        private final int nodes;

        Kind(String description, int nodes) {
            this.description = description;
            this.nodes = nodes;
        }

        /** For people. */
        String description() {
            return description;
        }

        /** Tutti nodes; 0 for PostgreSQL alone. */
        int nodes() {
            return nodes;
        }

        /** As reports call it. */
        String letter() {
            return "(" + (char) ('a' + ordinal()) + ")";
        }
    }
}
