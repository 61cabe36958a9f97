package tutti.workload.tpcc;

/**
 * The constants C of the non-uniform distributions (clause 2.1.6.1). They are fixed for a population and for a run; for
 * last names the two must differ by 65 to 119, but not by 96 or 112.
 *
 * @param lastName 0 to 255
 * @param customer 0 to 1023
 * @param item 0 to 8191
 */
public record TpccConstants(int lastName, int customer, int item) {
    public TpccConstants {
        if (lastName < 0 || lastName > 255 || customer < 0 || customer > 1023 || item < 0 || item > 8191) {
            throw new IllegalArgumentException(
                    "constants out of range: " + lastName + " of 255, " + customer + " of 1023, " + item + " of 8191");
        }
    }

    /** Those that populations of this seed are made with. */
    public static TpccConstants forLoad(long seed) {
        TpccRandom random = TpccRandom.of(seed, "constants of load");
        return new TpccConstants(random.uniform(0, 255), random.uniform(0, 1023), random.uniform(0, 8191));
    }

    /**
     * Those of a run.
     *
     * @param load what the population was made with
     * @param seed of the run
     */
    public static TpccConstants forRun(TpccConstants load, long seed) {
        TpccRandom random = TpccRandom.of(seed, "constants of run");
        int customer = random.uniform(0, 1023);
        int item = random.uniform(0, 8191);
        // Every number from 0 to 255 has allowed neighbours on at least one side, so few draws are needed.
        while (true) {
            int lastName = random.uniform(0, 255);
            if (allowed(Math.abs(lastName - load.lastName))) {
                return new TpccConstants(lastName, customer, item);
            }
        }
    }

    private static boolean allowed(int delta) {
        return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
    }
}
