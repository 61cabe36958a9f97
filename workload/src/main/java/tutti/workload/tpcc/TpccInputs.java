package tutti.workload.tpcc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What one terminal's user does: an endless stream of inputs by the distributions of clauses 2.4.1 to 2.8.1, and the
 * pauses of clause 5.2.5. A pure function of its arguments. One thread.
 */
public final class TpccInputs {
    private final TpccScale scale;
    private final TpccConstants constants;
    private final int warehouse;
    private final int district;
    private final TpccRandom random;
    // Pauses have their own stream: the inputs are the same with and without them.
    private final TpccRandom pauses;

    /**
     * A terminal's stream.
     *
     * @param constants of the run, the same for all terminals
     * @param seed of the run
     * @param terminal number of the terminal in the run
     * @param warehouse its home, 1 and up
     * @param district its home, 1 and up
     */
    public TpccInputs(TpccScale scale, TpccConstants constants, long seed, int terminal, int warehouse, int district) {
        if (warehouse < 1 || warehouse > scale.warehouses() || district < 1 || district > scale.districts()) {
            throw new IllegalArgumentException(
                    "terminal " + terminal + " at warehouse " + warehouse + ", district " + district + " of " + scale);
        }
        this.scale = scale;
        this.constants = constants;
        this.warehouse = warehouse;
        this.district = district;
        random = TpccRandom.of(seed, "terminal", terminal);
        pauses = TpccRandom.of(seed, "pauses", terminal);
    }

    /** What comes next, by the standard mix. */
    public TpccInput next() {
        return next(TpccTransaction.draw(random));
    }

    /**
     * What comes next, by a mix with this share of transactions that only read; with the standard share, the standard mix.
     *
     * @param readPercent 0 to 100
     */
    TpccInput next(int readPercent) {
        return readPercent == TpccTransaction.STANDARD_READ_PERCENT
                ? next()
                : next(TpccTransaction.draw(readPercent, random::uniform));
    }

    /** The next input of this type. */
    public TpccInput next(TpccTransaction type) {
        return switch (type) {
            case NEW_ORDER -> newOrder();
            case PAYMENT -> payment();
            case ORDER_STATUS ->
                new TpccInput.OrderStatus(warehouse, random.uniform(1, scale.districts()), customer());
            case DELIVERY -> new TpccInput.Delivery(warehouse, random.uniform(1, 10));
            case STOCK_LEVEL -> new TpccInput.StockLevel(warehouse, district, random.uniform(10, 20));
        };
    }

    /** How long the user looks at a result: negative exponential, cut at ten times the mean (clause 5.2.5.4). */
    public Duration thinking(TpccTransaction type) {
        double factor = Math.min(10, -Math.log(1 - pauses.fraction()));
        return Duration.ofNanos((long) (type.meanThinking().toNanos() * factor));
    }

    private TpccInput.NewOrder newOrder() {
        int orderDistrict = random.uniform(1, scale.districts());
        int customer = customerNumber();
        int count = random.uniform(5, 15);
        boolean rollback = random.percent(1);
        List<TpccInput.Line> lines = new ArrayList<>(count);
        for (int i = 1; i <= count; i++) {
            int item = rollback && i == count
                    ? scale.items() + 1
                    : random.nonUniform(8191, constants.item(), 1, scale.items());
            int supply = scale.warehouses() > 1 && random.percent(1) ? otherWarehouse() : warehouse;
            lines.add(new TpccInput.Line(item, supply, random.uniform(1, 10)));
        }
        return new TpccInput.NewOrder(warehouse, orderDistrict, customer, lines);
    }

    private TpccInput.Payment payment() {
        int paidDistrict = random.uniform(1, scale.districts());
        boolean remote = random.percent(15) && scale.warehouses() > 1;
        int customerWarehouse = remote ? otherWarehouse() : warehouse;
        int customerDistrict = remote ? random.uniform(1, scale.districts()) : paidDistrict;
        return new TpccInput.Payment(warehouse, paidDistrict, customerWarehouse, customerDistrict, customer(),
                random.uniform(100, 500_000));
    }

    private TpccInput.Customer customer() {
        if (random.percent(60)) {
            int name = random.nonUniform(255, constants.lastName(), 0, scale.lastNames() - 1);
            return new TpccInput.Customer.ByLastName(TpccRandom.lastName(name));
        }
        return new TpccInput.Customer.ById(customerNumber());
    }

    private int customerNumber() {
        return random.nonUniform(1023, constants.customer(), 1, scale.customers());
    }

    private int otherWarehouse() {
        int other = random.uniform(1, scale.warehouses() - 1);
        return other < warehouse ? other : other + 1;
    }
}
