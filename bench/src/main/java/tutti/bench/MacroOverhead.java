package tutti.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import tutti.engine.jdbc.InProcessEngine;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccTransaction;

/**
 * What a transaction of one client costs in each of several systems (figure 5.3 of the thesis). All are there at the same
 * time and do the same transactions, in turns of {@link #SLICE}, so that what disturbs the machine, what the compiler
 * learns and what the data grow to is the same for all. A turn begins at another system each time.
 */
final class MacroOverhead implements AutoCloseable {
    /** Transactions of a turn. */
    static final int SLICE = 60;
    /** Turns before those that count: the compiler learns each mix anew. In a short measurement as many as count. */
    private static final int UNCOUNTED_MAX = 30;
    private static final long SOURCE = 1;

    private final TpccPopulation population;
    private final List<MacroSystem> systems = new ArrayList<>();

    /**
     * What a transaction takes, in microseconds.
     *
     * @param micros median over the turns, for each system
     * @param least of the ratios to the first system over the turns: the lower quartile, for each system
     * @param middle likewise, the median
     * @param most likewise, the upper quartile
     * @param kindsMicros mean of each kind of transaction at the first system, those of uncounted turns included; 0 for one that
     *            the mix does not have
     */
    record Cost(String mix, double[] micros, double[] least, double[] middle, double[] most,
            Map<TpccTransaction, Double> kindsMicros) {}

    /** Loads the systems. */
    MacroOverhead(InProcessEngine database, List<MacroSystem.Kind> kinds, TpccPopulation population, Path directory)
            throws IOException, SQLException, InterruptedException {
        this.population = population;
        boolean loaded = false;
        try {
            for (MacroSystem.Kind kind : kinds) {
                systems.add(
                        MacroSystem.start(database, kind, population, directory.resolve("overhead" + systems.size())));
            }
            loaded = true;
        } finally {
            if (!loaded) {
                close();
            }
        }
    }

    /** Measures with a mix, for so many turns. */
    Cost measure(MacroMix mix, int turns, long seed) throws SQLException {
        int count = systems.size();
        double[][] nanos = new double[count][turns];
        List<MacroClient> clients = new ArrayList<>();
        Map<TpccTransaction, Double> kinds = new EnumMap<>(TpccTransaction.class);
        try {
            for (MacroSystem system : systems) {
                clients.add(new MacroClient(system, population, mix, 0, seed, SOURCE + mix.ordinal()));
            }
            for (int turn = -Math.min(UNCOUNTED_MAX, turns); turn < turns; turn++) {
                for (int i = 0; i < count; i++) {
                    int place = Math.floorMod(turn + i, count);
                    MacroClient client = clients.get(place);
                    long begun = System.nanoTime();
                    for (int n = 0; n < SLICE; n++) {
                        client.step();
                    }
                    if (turn >= 0) {
                        nanos[place][turn] = System.nanoTime() - begun;
                    }
                }
            }
            for (TpccTransaction kind : TpccTransaction.values()) {
                kinds.put(kind, clients.getFirst().meanMicros(kind));
            }
        } finally {
            for (MacroClient client : clients) {
                client.close();
            }
        }
        double[] micros = new double[count];
        double[] least = new double[count];
        double[] middle = new double[count];
        double[] most = new double[count];
        for (int i = 0; i < count; i++) {
            double[] ratios = new double[turns];
            for (int turn = 0; turn < turns; turn++) {
                ratios[turn] = nanos[i][turn] / nanos[0][turn];
            }
            Arrays.sort(ratios);
            least[i] = ratios[turns / 4];
            middle[i] = ratios[turns / 2];
            most[i] = ratios[turns - 1 - turns / 4];
            double[] sorted = nanos[i].clone();
            Arrays.sort(sorted);
            micros[i] = sorted[turns / 2] / SLICE / 1000;
        }
        return new Cost(mix.label(), micros, least, middle, most, kinds);
    }

    @Override
    public void close() {
        systems.forEach(MacroSystem::close);
    }
}
