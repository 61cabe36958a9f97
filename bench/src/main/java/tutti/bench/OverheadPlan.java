package tutti.bench;

import java.util.List;
import tutti.command.Failure;
import tutti.core.protocol.Protocols;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccTransaction;

/**
 * How to compare. The same for every contender.
 *
 * @param contenders in the order in which they take turns
 * @param warehouses of TPC-C
 * @param reduced whether the population is a hundredth of TPC-C's, which is then not TPC-C
 * @param terminals at work at a time, without think time
 * @param rounds how often each contender is measured
 * @param seconds of each measurement
 * @param warmupSeconds before each, not counted
 * @param seed of inputs; each round has its own, the same for every contender
 * @param form how transactions are handed in
 * @param readPercent share of transactions that only read; {@link TpccTransaction#STANDARD_READ_PERCENT} for TPC-C's mix
 * @param protocol of Tutti's nodes
 * @param machineCpus processors that each machine of a contender has; 0 if all share this one's
 */
record OverheadPlan(List<Contender.Kind> contenders, int warehouses, boolean reduced, int terminals, int rounds,
        int seconds, int warmupSeconds, long seed, TpccForm form, int readPercent,
        String protocol, double machineCpus) {
    OverheadPlan {
        contenders = contenders.stream().distinct().sorted().toList();
        require(!contenders.isEmpty(), "--contenders must name one at least");
        require(warehouses >= 1 && warehouses <= 1000, "--warehouses must be 1 to 1000, was " + warehouses);
        require(terminals >= 1 && terminals <= 150, "--terminals must be 1 to 150, was " + terminals);
        require(rounds >= 1 && rounds <= 1000, "--rounds must be 1 to 1000, was " + rounds);
        require(seconds >= 1 && seconds <= 86_400, "--seconds must be 1 to 86400, was " + seconds);
        require(warmupSeconds >= 1 && warmupSeconds <= 3600, "--warmup must be 1 to 3600, was " + warmupSeconds);
        require(readPercent >= 0 && readPercent <= 100, "--reads must be 0 to 100, was " + readPercent);
        require(Protocols.STANDARD.names().contains(protocol), "--protocol must be one of "
                + Protocols.STANDARD.names() + ", was " + protocol);
        require(machineCpus == 0 || (machineCpus >= 0.1 && machineCpus <= 1024),
                "--machine-cpus must be 0.1 to 1024, was " + machineCpus);
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw Failure.usage(what, "");
        }
    }

    /** Whether transactions are drawn as TPC-C says. */
    boolean standardMix() {
        return readPercent == TpccTransaction.STANDARD_READ_PERCENT;
    }

    /** Whether each machine of a contender has processors of its own. */
    boolean ownMachines() {
        return machineCpus > 0;
    }

    /** What is loaded. */
    TpccScale scale() {
        return reduced ? TpccScale.reduced(warehouses) : TpccScale.standard(warehouses);
    }
}
