package tutti.model;

import java.util.List;
import java.util.Set;
import tutti.core.protocol.ChosenProtocol;
import tutti.group.GroupParameters;

/**
 * Everything that a run of the model follows from, but for the seed.
 *
 * @param topology sites and network
 * @param calibration of the database
 * @param workload of the clients
 * @param policy of the lock manager
 * @param execution how transactions execute
 * @param copies of the database at each site
 * @param protocol name and parameters
 * @param order how messages are ordered
 * @param length when it ends
 * @param faults what goes wrong
 * @param charge how real code is charged time
 */
public record ModelConfig(Topology topology, Calibration calibration, WorkloadModel workload, LockPolicy policy,
        Executing execution, Copies copies, ChosenProtocol protocol, OrderChoice order, Length length,
        List<ModelFault> faults,
        Charge charge) {
    /** Of the lock manager (D5.1, section 2.3.2). */
    public enum LockPolicy {
        /** Rows that are written are locked, the first updater wins. */
        TIMESTAMP,
        /** Rows that are read are locked, too, shared. */
        LOCKING
    }

    /**
     * The databases of a site, which hold the same.
     *
     * @param replicas 1 to {@value #REPLICAS_MAX}: one is primary, the others take its write sets and run what only reads
     * @param admits how many compute in one at a time; 0 if that has no limit of its own
     */
    public record Copies(int replicas, int admits) {
        /** More are not. */
        public static final int REPLICAS_MAX = 64;
        /** One database, as concurrent as processors allow. */
        public static final Copies ONE = new Copies(1, 0);

        public Copies {
            if (replicas < 1 || replicas > REPLICAS_MAX || admits < 0) {
                throw new IllegalArgumentException(
                        "impossible databases: " + replicas + " that admit " + admits + " at a time");
            }
        }
    }

    /** How a transaction executes at its own site. */
    public enum Executing {
        /** It takes its locks at once, then computes (D5.1, section 2.3.2). */
        AT_ONCE,
        /** Statement by statement, each locking its rows one after the other, as databases do. */
        STATEMENTS
    }

    /** How the processor time of real code that runs in the model is found. */
    public enum Charge {
        /** By the calibration. */
        MODEL,
        /** By the time that it takes here. */
        MEASURED,
        /** By what a measured run has taken down. */
        REPLAY
    }

    /**
     * How messages are ordered.
     *
     * @param kind modelled, or real group communication
     * @param primaryClusterOnly whether only the first cluster takes part
     * @param waitsForAll whether all who take part must have a message before it is delivered, not a majority
     * @param tentative whether replicas are also told of messages in the order in which they come, before their place is known
     * @param group of real group communication
     */
    public record OrderChoice(Kind kind, boolean primaryClusterOnly, boolean waitsForAll, boolean tentative,
            GroupTuning group) {
        /** The sites that take part. */
        public Set<Integer> members(Topology topology) {
            return primaryClusterOnly
                    ? topology.byCluster().getOrDefault(topology.clusters().getFirst().name(), Set.of())
                    : topology.all();
        }

        /** Modelled or real. */
        public enum Kind {
            /** {@link SequencerChannel}. */
            SEQUENCER,
            /** {@link GroupChannel}. */
            GROUP
        }
    }

    /**
     * Parameters of real group communication.
     *
     * @param flow how much may be under way
     * @param timing how long to wait for what
     */
    public record GroupTuning(GroupParameters.Flow flow, GroupParameters.Timing timing) {}

    /**
     * When a run ends.
     *
     * @param warmUpSeconds that do not count, at least 0
     * @param transactions that count, at least 1
     * @param secondsMax of simulated time, at which it ends in any case
     * @param sampleSeconds between two samples
     */
    public record Length(double warmUpSeconds, long transactions, double secondsMax, double sampleSeconds) {
        public Length {
            if (!(warmUpSeconds >= 0) || transactions < 1 || !(secondsMax > warmUpSeconds) || !(sampleSeconds > 0)) {
                throw new IllegalArgumentException("impossible length: warm-up " + warmUpSeconds + " s, "
                        + transactions + " transactions, at most " + secondsMax + " s, a sample every " + sampleSeconds
                        + " s");
            }
        }
    }

    public ModelConfig {
        faults = List.copyOf(faults);
    }
}
