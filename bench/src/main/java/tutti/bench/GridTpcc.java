package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccInput;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccTransaction;

/**
 * TPC-C over keys and values, as the thesis runs it (section V-A): one warehouse, 45 % payments, 5 % questions for an order, new orders for the
 * rest, without think time. Every one of the first and the last writes one of ten districts. Keys are numbers in lists, the first of
 * which says of what; what was never written counts as it is when a database has just been filled, with sums of 0. A customer who is asked for by
 * name costs one read more, of an index.
 */
final class GridTpcc implements GridScript.Source {
    private static final int DISTRICTS = 10;
    private static final int PAYMENT_PERCENT = 45;
    private static final int QUESTION_PERCENT = 5;
    private static final int WAREHOUSE = 1;
    private static final int DISTRICT = 2;
    private static final int CUSTOMER = 3;
    private static final int NAME = 4;
    private static final int HISTORY = 5;
    private static final int ITEM = 6;
    private static final int STOCK = 7;
    private static final int ORDER = 8;
    private static final int NEW_ORDER = 9;
    private static final int ORDER_LINE = 10;
    private static final int LAST_ORDER = 11;
    private static final TpccScale SCALE = TpccScale.standard(1);

    private final TpccInputs inputs;
    private final SplittableRandom random;

    GridTpcc(long seed, int client) {
        inputs = new TpccInputs(SCALE, TpccConstants.forRun(TpccConstants.forLoad(seed), seed), seed, client, 1,
                1 + client % DISTRICTS);
        random = new SplittableRandom(seed * 31 + client);
    }

    private static Object warehouse() {
        return List.of(WAREHOUSE);
    }

    private static Object district(int number) {
        return List.of(DISTRICT, number);
    }

    /** What the warehouse has been paid, and what each district has been, with its last order. */
    static List<Object> checkedKeys() {
        List<Object> keys = new ArrayList<>();
        keys.add(warehouse());
        for (int i = 1; i <= DISTRICTS; i++) {
            keys.add(district(i));
        }
        return keys;
    }

    /** Whether the warehouse was paid what its districts were (clause 3.3.2.1), by what was found under those keys. */
    static boolean isConsistent(List<@Nullable Object> found) {
        return number(found.getFirst()) == found.subList(1, found.size()).stream().mapToLong(one -> element(one, 0))
                .sum();
    }

    @Override
    public GridScript next() {
        int dice = random.nextInt(100);
        TpccTransaction type = dice < PAYMENT_PERCENT
                ? TpccTransaction.PAYMENT
                : dice < PAYMENT_PERCENT + QUESTION_PERCENT
                        ? TpccTransaction.ORDER_STATUS
                        : TpccTransaction.NEW_ORDER;
        GridScript script = new GridScript(type == TpccTransaction.ORDER_STATUS);
        switch (inputs.next(type)) {
            case TpccInput.NewOrder input -> newOrder(script, input);
            case TpccInput.Payment input -> payment(script, input);
            case TpccInput.OrderStatus input -> question(script, input);
            case TpccInput.Delivery _,TpccInput.StockLevel _ ->
                throw new IllegalStateException("not asked for: " + type);
        }
        return script;
    }

    private static long number(@Nullable Object value) {
        return value instanceof Number number ? number.longValue() : 0;
    }

    private static long element(@Nullable Object list, int at) {
        return list instanceof List<?> numbers ? number(numbers.get(at)) : 0;
    }

    /** Pays a district, or gives it an order: what it has then, of both. */
    private static long[] changeDistrict(GridScript script, int number, long paid, long orders) {
        long[] changed = new long[2];
        script.read(() -> district(number), value -> {
            changed[0] = element(value, 0) + paid;
            changed[1] = element(value, 1) + orders;
        });
        script.write(() -> district(number), () -> List.of(changed[0], changed[1]));
        return changed;
    }

    /** Reads a number and writes another one. */
    private static void change(GridScript script, Object key, Function<Long, Long> other) {
        long[] changed = new long[1];
        script.read(() -> key, value -> changed[0] = other.apply(number(value)));
        script.write(() -> key, () -> changed[0]);
    }

    private static int customer(GridScript script, int district, TpccInput.Customer of) {
        return switch (of) {
            case TpccInput.Customer.ById one -> one.id();
            case TpccInput.Customer.ByLastName one -> {
                script.read(() -> List.of(NAME, district, one.name()), _ -> {});
                yield 1 + Math.floorMod(one.name().hashCode(), SCALE.customers());
            }
        };
    }

    private void payment(GridScript script, TpccInput.Payment input) {
        long cents = input.amountCents();
        change(script, warehouse(), paid -> paid + cents);
        changeDistrict(script, input.district(), cents, 0);
        int customer = customer(script, input.customerDistrict(), input.customer());
        change(script, List.of(CUSTOMER, input.customerDistrict(), customer), owed -> owed - cents);
        long history = random.nextLong();
        script.write(() -> List.of(HISTORY, history), () -> cents);
    }

    private static void newOrder(GridScript script, TpccInput.NewOrder input) {
        int district = input.district();
        script.read(GridTpcc::warehouse, _ -> {});
        long[] order = changeDistrict(script, district, 0, 1);
        script.read(() -> List.of(CUSTOMER, district, input.customer()), _ -> {});
        for (int i = 0; i < input.lines().size(); i++) {
            TpccInput.Line line = input.lines().get(i);
            int number = i;
            script.read(() -> List.of(ITEM, line.item()), _ -> {});
            change(script, List.of(STOCK, line.item()), sold -> sold + line.quantity());
            script.write(() -> List.of(ORDER_LINE, district, order[1], number), line::quantity);
        }
        script.write(() -> List.of(ORDER, district, order[1]), () -> input.lines().size());
        script.write(() -> List.of(NEW_ORDER, district, order[1]), () -> true);
        script.write(() -> List.of(LAST_ORDER, district, input.customer()), () -> order[1]);
    }

    /** The customer's last order, and its lines. */
    private static void question(GridScript script, TpccInput.OrderStatus input) {
        int customer = customer(script, input.district(), input.customer());
        long[] order = new long[1];
        script.read(() -> List.of(CUSTOMER, input.district(), customer), _ -> {});
        script.read(() -> List.of(LAST_ORDER, input.district(), customer), last -> order[0] = number(last));
        script.read(() -> List.of(ORDER, input.district(), order[0]), lines -> {
            for (int i = 0; i < number(lines); i++) {
                int line = i;
                script.read(() -> List.of(ORDER_LINE, input.district(), order[0], line), _ -> {});
            }
        });
    }
}
