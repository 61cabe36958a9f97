package tutti.bench;

import picocli.CommandLine.Option;

/** What the commands have in common that let TPC-C's terminals work. */
final class TpccOptions {
    @Option(names = "--warehouses", paramLabel = "N", defaultValue = "2", description = "TPC-C's only measure of size (default: ${DEFAULT-VALUE}).")
    private int warehouses;

    @Option(names = "--reduced", description = "Load a hundredth of the rows, for a quick look; figures are then not TPC-C's.")
    private boolean reduced;

    @Option(names = "--terminals", paramLabel = "N", defaultValue = "6", description = "Clients at work at a time, over all nodes, without think time (default: ${DEFAULT-VALUE}).")
    private int terminals;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of population and inputs (default: ${DEFAULT-VALUE}).")
    private long seed;

    int warehouses() {
        return warehouses;
    }

    boolean reduced() {
        return reduced;
    }

    int terminals() {
        return terminals;
    }

    long seed() {
        return seed;
    }
}
