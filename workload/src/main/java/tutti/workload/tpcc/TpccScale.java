package tutti.workload.tpcc;

/**
 * How many rows there are. Only {@link #standard} gives populations that TPC-C allows (clause 1.2.1); anything else is
 * for tests, and {@link #isStandard()} and {@link #toString()} say so.
 *
 * @param warehouses 1 to 10,000; the only number that the benchmark lets vary
 * @param items rows of ITEM, and of STOCK per warehouse
 * @param districts per warehouse, 1 to 10
 * @param customers per district, who place one order each initially; at least 1
 * @param undelivered initial orders per district that wait for delivery, the most recent ones; 1 to {@code customers}
 */
public record TpccScale(int warehouses, int items, int districts, int customers, int undelivered) {
    private static final int STANDARD_ITEMS = 100_000;
    private static final int STANDARD_DISTRICTS = 10;
    private static final int STANDARD_CUSTOMERS = 3_000;
    private static final int STANDARD_UNDELIVERED = 900;

    public TpccScale {
        require(warehouses >= 1 && warehouses <= 10_000, "warehouses must be 1 to 10000, was " + warehouses);
        require(items >= 20 && items <= 1_000_000, "items must be 20 to 1000000, was " + items);
        require(districts >= 1 && districts <= 10, "districts must be 1 to 10, was " + districts);
        require(customers >= 1 && customers <= 100_000, "customers must be 1 to 100000, was " + customers);
        require(undelivered >= 1 && undelivered <= customers,
                "undelivered orders must be 1 to the number of customers, was " + undelivered);
    }

    /** The population that the specification demands. */
    public static TpccScale standard(int warehouses) {
        return new TpccScale(warehouses, STANDARD_ITEMS, STANDARD_DISTRICTS, STANDARD_CUSTOMERS, STANDARD_UNDELIVERED);
    }

    /** Not TPC-C: a hundredth of the rows, for tests. */
    public static TpccScale reduced(int warehouses) {
        return new TpccScale(warehouses, 1_000, STANDARD_DISTRICTS, 30, 9);
    }

    /** Whether results may be called TPC-C's. */
    public boolean isStandard() {
        return items == STANDARD_ITEMS && districts == STANDARD_DISTRICTS && customers == STANDARD_CUSTOMERS
                && undelivered == STANDARD_UNDELIVERED;
    }

    /** Highest initial order number of a district that has been delivered; 2,100 in the standard. */
    public int delivered() {
        return customers - undelivered;
    }

    /** How many different last names customers have. */
    int lastNames() {
        return Math.min(1_000, customers);
    }

    @Override
    public String toString() {
        return warehouses + (warehouses == 1 ? " warehouse" : " warehouses")
                + (isStandard()
                        ? ""
                        : " (reduced population, not TPC-C: " + items + " items, " + districts + " districts, "
                                + customers + " customers per district)");
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalArgumentException(message);
        }
    }
}
