package tutti.cli.sim;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.core.protocol.Protocols;
import tutti.report.BenchFiles;
import tutti.sim.world.Campaign;
import tutti.sim.world.Scenario;

/**
 * A campaign: what it consists of and all its numbers so far, as they are written to its file, from which it can go on. Its
 * scenarios are numbered: all of one series and then those of the next if each has a number of seeds, by turns if the time
 * is bounded.
 *
 * @param build fingerprint of what runs
 * @param rooms the same by room
 * @param parts how often it was begun or gone on with
 * @param mutant what is broken on purpose
 * @param transactions of a scenario
 * @param set parameters of protocols that are not left to chance
 * @param partial whether some nodes lack some tables; null, as in files of before, if none does
 * @param firstSeed of each series
 * @param fresh whether that seed was drawn for this campaign
 * @param seeds of each series; 0 if the time is bounded
 * @param minutes that it is to take; 0 if the seeds are bounded
 * @param seconds that it has taken
 * @param processorSeconds that it has taken of processors, with all threads: compiler, collector and the making small of failures too
 * @param series what is run
 * @param failures that it has found
 */
record CampaignNumbers(String build, Map<String, String> rooms, int parts, String mutant, int transactions,
        Map<String, String> set, @Nullable Boolean partial, long firstSeed,
        boolean fresh, int seeds, double minutes, double seconds, double processorSeconds, List<ScenarioSeries> series,
        List<Found> failures) {
    /**
     * A scenario that failed.
     *
     * @param failed checkers
     * @param replay the file with which it runs again
     * @param text what is wrong, in words
     */
    record Found(String protocol, String order, String faults, long seed, List<String> failed, String replay,
            List<String> text) {}

    /**
     * Reads a file.
     *
     * @throws Failure if it is none
     */
    static CampaignNumbers read(Path file) throws IOException {
        return BenchFiles.readJson(file, CampaignNumbers.class, "a campaign",
                "name one that `tutti sim check --minutes N` or `--json FILE` has written",
                read -> read.build != null && read.failures != null && read.series != null && !read.series.isEmpty());
    }

    /** Writes it in place of what was there; whoever reads finds the one or the other. */
    void write(Path file) {
        BenchFiles.replaceJson(file, this);
    }

    /** How many scenarios have run. */
    int scenarios() {
        return series.stream().mapToInt(ScenarioSeries::scenarios).sum();
    }

    int failed() {
        return series.stream().mapToInt(ScenarioSeries::failed).sum();
    }

    /** How many there are to run; the largest number there is if time decides. */
    int scenariosMax() {
        return seeds == 0 ? Integer.MAX_VALUE : Math.multiplyExact(seeds, series.size());
    }

    /** Which series the scenario of a number belongs to. */
    int seriesOf(int number) {
        return seeds == 0 ? number % series.size() : number / seeds;
    }

    private long seedOf(int number) {
        return firstSeed + (seeds == 0 ? number / series.size() : number % seeds);
    }

    /** The scenario of a number, from 0. */
    Scenario scenario(int number) {
        ScenarioSeries one = series.get(seriesOf(number));
        Scenario random = Scenario.random(seedOf(number), Protocols.STANDARD.descriptor(one.protocol()), set,
                one.orderKind(), transactions, one.profile());
        return lacksTables() ? random.withTablesOnSomeNodes() : random;
    }

    /** Whether some nodes lack some tables. */
    boolean lacksTables() {
        return partial != null && partial;
    }

    /** With the next scenario. */
    CampaignNumbers plus(Campaign.Finished finished) {
        List<ScenarioSeries> all = new ArrayList<>(series);
        int index = seriesOf(scenarios());
        all.set(index, all.get(index).plus(finished));
        return new CampaignNumbers(build, rooms, parts, mutant, transactions, set, partial, firstSeed, fresh, seeds,
                minutes, seconds, processorSeconds, all, failures);
    }

    /** With a failure. */
    CampaignNumbers plus(Found found) {
        List<Found> all = new ArrayList<>(failures);
        all.add(found);
        return new CampaignNumbers(build, rooms, parts, mutant, transactions, set, partial, firstSeed, fresh, seeds,
                minutes, seconds, processorSeconds, series, all);
    }

    /** After so much time in all. */
    CampaignNumbers after(double allSeconds, double allProcessorSeconds) {
        return new CampaignNumbers(build, rooms, parts, mutant, transactions, set, partial, firstSeed, fresh, seeds,
                minutes, allSeconds, allProcessorSeconds, series, failures);
    }

    /** Gone on with once more, for so many minutes in all. */
    CampaignNumbers lasting(double allMinutes) {
        return new CampaignNumbers(build, rooms, parts + 1, mutant, transactions, set, partial, firstSeed, fresh,
                seeds, allMinutes, seconds, processorSeconds, series, failures);
    }
}
