package tutti.model;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.RandomStream;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccInput;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccTransaction;

/**
 * TPC-C for a database of keys (D5.1, section 2.3.1): inputs by the same definition as the real clients
 * ({@link TpccInputs}), the rows that the real transactions read and write, the sizes of table 2.2.
 *
 * <p>
 * The key of a row is exact: table, warehouse, district and number in one long. Which order a Delivery delivers is known when
 * it runs: the oldest of each district that its site has not delivered. How many lines an order has, and whose it is, follows
 * from its key, so nothing is kept of orders.
 */
final class TpccModel implements WorkSource {
    /* Tables, in the upper bits of keys; their order does not matter. */
    private static final int WAREHOUSE = 1;
    private static final int DISTRICT = 2;
    private static final int CUSTOMER = 3;
    private static final int HISTORY = 4;
    private static final int ORDERS = 5;
    private static final int NEW_ORDER = 6;
    private static final int ORDER_LINE = 7;
    private static final int STOCK = 8;
    private static final int ITEM = 9;
    /** By table: bytes of a row (table 2.2). */
    private static final int[] BYTES = {0, 89, 95, 655, 46, 24, 8, 54, 306, 82};
    private static final int ROW_HEADER_BYTES = 8;
    /** Of a key in an encoded write set. */
    private static final int KEY_BYTES = 9;

    private static final int DISTRICTS = 10;
    private static final int CUSTOMERS = 3000;
    private static final int FIRST_ORDER = 3001;
    private static final int FIRST_UNDELIVERED = 2101;
    private static final int LAST_NAMES = 1000;
    private static final int ITEMS = 100_000;
    private static final int STATEMENT_BYTES = 200;
    private static final int TABLE_KEY = 1 << 28;

    private final WorkloadModel workload;
    private final Calibration calibration;
    private final TpccScale scale;
    private final TpccConstants constants;
    private final long seed;
    private final RandomStream random;
    private final boolean whole;
    private final boolean owners;
    private final boolean everywhere;
    private final boolean readSets;
    private final boolean sharedLocks;
    private final boolean byStatement;
    private final int[] nextOrder;
    private final int[] nextDelivery;
    private final Map<Integer, byte[]> changes = new HashMap<>();
    private final Map<RequestKind, ConflictClasses> tableClasses = new HashMap<>();
    private final Map<Long, ConflictClasses> warehouseClasses = new HashMap<>();
    private long number;
    private long historyNumber;

    /**
     * A database in which nothing has happened yet.
     *
     * @param whole whether clients hand in whole requests, that can be executed again
     * @param owners whether some replica executes each request, whichever it is handed in to
     * @param everywhere whether every replica executes whatever changes something
     * @param readSets whether somebody needs to know what transactions read
     * @param sharedLocks whether rows that are read are locked
     * @param byStatement whether transactions execute statement by statement
     */
    TpccModel(WorkloadModel workload, Calibration calibration, int sites, long seed, RandomStream random, boolean whole,
            boolean owners, boolean everywhere, boolean readSets, boolean sharedLocks, boolean byStatement) {
        this.workload = workload;
        this.calibration = calibration;
        this.scale = TpccScale.standard(workload.warehouses(sites));
        this.constants = TpccConstants.forRun(TpccConstants.forLoad(seed), seed);
        this.seed = seed;
        this.random = random;
        this.whole = whole;
        this.owners = owners;
        this.everywhere = everywhere;
        this.readSets = readSets;
        this.sharedLocks = sharedLocks;
        this.byStatement = byStatement;
        this.nextOrder = new int[(scale.warehouses() + 1) * DISTRICTS];
        this.nextDelivery = new int[nextOrder.length];
        Arrays.fill(nextOrder, FIRST_ORDER);
        Arrays.fill(nextDelivery, FIRST_UNDELIVERED);
        for (RequestKind kind : RequestKind.DRAWN) {
            tableClasses.put(kind, tables(kind));
        }
    }

    int warehouses() {
        return scale.warehouses();
    }

    /** What the user of a terminal types in. */
    TpccInputs inputs(int terminal, int warehouse) {
        return new TpccInputs(scale, constants, seed, terminal, warehouse, 1 + terminal % DISTRICTS);
    }

    // ------------------------------------------------------------------------------------------ transactions

    /** The next transaction of a client. */
    Work next(TpccInputs inputs, int warehouse) {
        RequestKind kind = draw();
        TpccTransaction type = kind.tpcc();
        TpccInput input = type == null ? new TpccInput.Delivery(warehouse, 1) : inputs.next(type);
        long cpu = Math.max(1, calibration.cpuOf(kind).sample(random));
        boolean active = (everywhere && !kind.readOnly())
                || (kind == RequestKind.MAINTENANCE && workload.maintenance().active());
        TransactionRequest request = request(kind, input, active, ++number);
        Calibration.Client client = calibration.client();
        Work work = new Work(number, kind, warehouse, input, request, active, cpu,
                client.cpu().getOrDefault(kind, Distribution.ZERO).sample(random),
                client.waiting().getOrDefault(kind, Distribution.ZERO).sample(random));
        work.givenUp = workload.rollbacks() && !active && input instanceof TpccInput.NewOrder order
                && order.lines().getLast().item() > scale.items();
        return work;
    }

    /** The same once more, for a client that tries again. */
    Work again(Work work) {
        return new Work(++number, work.kind, work.warehouse, work.input,
                work.isForOwner() ? request(work.kind, work.input, false, number) : work.request, work.active,
                work.cpuNanos,
                work.clientNanos, work.waitingNanos);
    }

    private RequestKind draw() {
        double left = random.nextDouble();
        RequestKind last = RequestKind.NEW_ORDER;
        for (Map.Entry<RequestKind, Double> share : workload.shares().entrySet()) {
            last = share.getValue() > 0 ? share.getKey() : last;
            left -= share.getValue();
            if (left < 0) {
                break;
            }
        }
        return last;
    }

    private TransactionRequest request(RequestKind kind, TpccInput input, boolean active, long which) {
        ConflictClasses classes = workload.granularity() == WorkloadModel.Granularity.WAREHOUSES
                && kind != RequestKind.MAINTENANCE
                        ? warehouses(input)
                        : tableClasses.getOrDefault(kind, ConflictClasses.ALL);
        if (!whole && !active) {
            return new TransactionRequest.Interactive(classes);
        }
        KeySet keys = kind == RequestKind.MAINTENANCE && workload.maintenance().structure()
                ? new KeySet.Builder().add(table(STOCK), KeyKind.EXCLUSIVE).build()
                : KeySet.EMPTY;
        boolean owner = owners && !active && !kind.readOnly();
        return new TransactionRequest.Whole(
                owner ? ByteBuffer.allocate(STATEMENT_BYTES).putLong(which).array() : bytes(STATEMENT_BYTES), classes,
                keys, active
                        ? TransactionRequest.Placement.ALL
                        : owner ? TransactionRequest.Placement.OWNER : TransactionRequest.Placement.ONE);
    }

    /** Table 3.2. */
    private ConflictClasses tables(RequestKind kind) {
        boolean written = workload.granularity() == WorkloadModel.Granularity.WRITTEN_TABLES;
        List<Integer> tables = switch (kind) {
            case NEW_ORDER -> written
                    ? List.of(DISTRICT, STOCK, ORDERS, ORDER_LINE, NEW_ORDER)
                    : List.of(WAREHOUSE, DISTRICT, CUSTOMER, ITEM, STOCK, ORDERS, ORDER_LINE, NEW_ORDER);
            case PAYMENT -> List.of(WAREHOUSE, DISTRICT, CUSTOMER, HISTORY);
            case DELIVERY -> List.of(CUSTOMER, ORDERS, ORDER_LINE, NEW_ORDER);
            case ORDER_STATUS -> List.of(CUSTOMER, ORDERS, ORDER_LINE);
            case STOCK_LEVEL -> List.of(DISTRICT, STOCK, ORDER_LINE);
            case MAINTENANCE -> List.of(workload.maintenance().structure() ? STOCK : ITEM);
            case READ, UPDATE -> throw new IllegalStateException(kind + " is no transaction of TPC-C");
        };
        return ConflictClasses.of(tables.stream().map(table -> (long) table).toList());
    }

    private ConflictClasses warehouses(TpccInput input) {
        Set<Integer> touched = new HashSet<>();
        touched.add(input.warehouse());
        if (input instanceof TpccInput.NewOrder order) {
            order.lines().forEach(line -> touched.add(line.supplyWarehouse()));
        } else if (input instanceof TpccInput.Payment payment) {
            touched.add(payment.customerWarehouse());
        }
        if (touched.size() == 1) {
            return warehouseClasses.computeIfAbsent((long) input.warehouse(),
                    home -> ConflictClasses.of(List.of(home)));
        }
        return ConflictClasses.of(touched.stream().map(Integer::longValue).toList());
    }

    // ------------------------------------------------------------------------------------------ rows

    @Override
    public void resolve(Work work) {
        if (work.resolved) {
            return;
        }
        if (work.kind.readOnly() && !sharedLocks) {
            if (byStatement) {
                statements(work);
            }
            return;
        }
        work.resolved = true;
        Rows rows = new Rows();
        switch (work.kind) {
            case NEW_ORDER -> newOrder((TpccInput.NewOrder) work.input, rows);
            case PAYMENT -> payment((TpccInput.Payment) work.input, rows);
            case DELIVERY -> delivery(work.warehouse, rows);
            case MAINTENANCE -> maintenance(rows);
            case ORDER_STATUS -> orderStatus((TpccInput.OrderStatus) work.input, rows);
            case STOCK_LEVEL -> stockLevel((TpccInput.StockLevel) work.input, rows);
            case READ, UPDATE -> throw new IllegalStateException(work.kind + " is no transaction of TPC-C");
        }
        work.exclusive = Arrays.copyOf(rows.locks, rows.locked);
        if (byStatement) {
            statements(work);
        }
        work.rows = rows.locked + rows.unlocked;
        work.writes = new WriteSet(rows.keys(), bytes(rows.bytes));
        if (readSets && !work.kind.readOnly()) {
            work.reads = workload.deliveryLocks()
                    ? work.kind == RequestKind.DELIVERY
                            ? new ReadSet.Builder().scan(table(ORDER_LINE)).build()
                            : ReadSet.EMPTY
                    : rows.reads.build();
        }
        if (sharedLocks) {
            work.shared = rows.shared();
        }
    }

    @Override
    public void committed(Work work) {
        if (work.kind == RequestKind.DELIVERY) {
            for (int district = 1; district <= DISTRICTS; district++) {
                nextDelivery[index(work.warehouse, district)]++;
            }
        }
    }

    /**
     * Puts the rows in the order in which the real transactions lock them ({@code tutti.workload.tpcc.TpccSql}), table by table. All
     * keep to one order of tables (Warehouse, District, Stock; New-Order, Orders, Order-Line; Customer, History) and of rows within
     * each, so that nobody waits in a circle. How the processor time is divided among the statements is not measured: by
     * the rows that each handles.
     */
    private static void statements(Work work) {
        List<Work.Statement> statements = new ArrayList<>();
        int lines = (int) Arrays.stream(work.exclusive).filter(row -> tableOf(row) == STOCK).count();
        long[] left = work.exclusive;
        long[] ordered = new long[left.length];
        int done = 0;
        double all = 0;
        for (Part part : parts(work.kind)) {
            long[] rows = Arrays.stream(left).filter(row -> part.table != 0 && tableOf(row) == part.table).sorted()
                    .toArray();
            System.arraycopy(rows, 0, ordered, done, rows.length);
            done += rows.length;
            double handled = rows.length + part.others + part.othersOfLine * lines;
            all += handled;
            statements.add(new Work.Statement(done, handled, part.endsCall));
        }
        if (done < left.length) {
            throw new IllegalStateException(work.kind + " locks rows of a table that none of its statements changes");
        }
        double sum = Math.max(1, all);
        work.exclusive = ordered;
        work.statements = statements.stream()
                .map(one -> new Work.Statement(one.rowsEnd(), one.share() / sum, one.endsCall())).toList();
    }

    /**
     * A statement of a kind of transaction.
     *
     * @param table whose rows it locks, 0 if none
     * @param others rows that it reads or inserts, and those for each line of an order
     */
    private record Part(int table, int others, int othersOfLine, boolean endsCall) {}

    private static List<Part> parts(RequestKind kind) {
        return switch (kind) {
            case NEW_ORDER -> List.of(new Part(DISTRICT, 0, 0, false), new Part(STOCK, 2, 1, true),
                    new Part(0, 2, 1, true));
            case PAYMENT -> List.of(new Part(WAREHOUSE, 0, 0, false), new Part(DISTRICT, 0, 0, false),
                    new Part(CUSTOMER, 1, 0, false), new Part(HISTORY, 0, 0, true));
            case DELIVERY -> List.of(new Part(NEW_ORDER, 0, 0, true), new Part(ORDERS, 0, 0, false),
                    new Part(ORDER_LINE, 0, 0, false), new Part(CUSTOMER, 0, 0, true));
            case MAINTENANCE -> List.of(new Part(ITEM, 0, 0, true));
            case ORDER_STATUS, STOCK_LEVEL -> List.of(new Part(0, 1, 0, true));
            case READ, UPDATE -> List.of();
        };
    }

    /** The table of a row. */
    private static int tableOf(long key) {
        return (int) (key >>> 58);
    }

    private static int index(int warehouse, int district) {
        return warehouse * DISTRICTS + district - 1;
    }

    private void newOrder(TpccInput.NewOrder input, Rows rows) {
        int order = nextOrder[index(input.warehouse(), input.district())]++;
        rows.read(WAREHOUSE, key(WAREHOUSE, input.warehouse(), 0, 0));
        rows.read(CUSTOMER, key(CUSTOMER, input.warehouse(), input.district(), input.customer()));
        rows.write(DISTRICT, key(DISTRICT, input.warehouse(), input.district(), 0), KeyKind.UPDATE, true);
        rows.write(ORDERS, key(ORDERS, input.warehouse(), input.district(), order), KeyKind.EXCLUSIVE, false);
        rows.write(NEW_ORDER, key(NEW_ORDER, input.warehouse(), input.district(), order), KeyKind.EXCLUSIVE, false);
        int number = 0;
        for (TpccInput.Line line : input.lines()) {
            rows.read(ITEM, key(ITEM, 0, 0, line.item()));
            rows.write(STOCK, key(STOCK, line.supplyWarehouse(), 0, line.item()), KeyKind.UPDATE, true);
            rows.write(ORDER_LINE, line(input.warehouse(), input.district(), order, ++number), KeyKind.EXCLUSIVE,
                    false);
        }
    }

    private void payment(TpccInput.Payment input, Rows rows) {
        int customer = number(input.customer());
        rows.write(WAREHOUSE, key(WAREHOUSE, input.warehouse(), 0, 0), KeyKind.UPDATE, true);
        rows.write(DISTRICT, key(DISTRICT, input.warehouse(), input.district(), 0), KeyKind.UPDATE, true);
        rows.write(CUSTOMER, key(CUSTOMER, input.customerWarehouse(), input.customerDistrict(), customer),
                KeyKind.UPDATE, true);
        if (workload.wholeHistory()) {
            rows.write(HISTORY, (long) HISTORY << 58, KeyKind.UPDATE, true);
        } else {
            rows.write(HISTORY, (long) HISTORY << 58 | ++historyNumber, KeyKind.EXCLUSIVE, false);
        }
    }

    private void delivery(int warehouse, Rows rows) {
        for (int district = 1; district <= DISTRICTS; district++) {
            int order = nextDelivery[index(warehouse, district)];
            if (order >= nextOrder[index(warehouse, district)]) {
                continue;
            }
            long orderKey = key(ORDERS, warehouse, district, order);
            long chance = chance(orderKey);
            rows.write(NEW_ORDER, key(NEW_ORDER, warehouse, district, order), KeyKind.EXCLUSIVE, true);
            rows.write(ORDERS, orderKey, KeyKind.UPDATE, true);
            for (int number = 1; number <= lines(chance); number++) {
                rows.write(ORDER_LINE, line(warehouse, district, order, number), KeyKind.UPDATE, true);
            }
            rows.write(CUSTOMER, key(CUSTOMER, warehouse, district, 1 + (int) (chance / 11 % CUSTOMERS)),
                    KeyKind.UPDATE, true);
        }
    }

    private static int number(TpccInput.Customer customer) {
        return switch (customer) {
            case TpccInput.Customer.ById(int id) -> id;
            case TpccInput.Customer.ByLastName(String name) -> 1 + Math.floorMod(name.hashCode(), LAST_NAMES);
        };
    }

    /** What follows from the key of an order. */
    private static long chance(long orderKey) {
        return (orderKey * 0x9E37_79B9_7F4A_7C15L) >>> 33;
    }

    private static int lines(long chance) {
        return 5 + (int) (chance % 11);
    }

    /** A customer's last order is one of the last 3000 of the district; which one follows from the customer. */
    private void orderStatus(TpccInput.OrderStatus input, Rows rows) {
        long customer = key(CUSTOMER, input.warehouse(), input.district(), number(input.customer()));
        rows.read(CUSTOMER, customer);
        int order = nextOrder[index(input.warehouse(), input.district())] - 1 - (int) (chance(customer) % CUSTOMERS);
        long orderKey = key(ORDERS, input.warehouse(), input.district(), order);
        rows.read(ORDERS, orderKey);
        for (int number = 1; number <= lines(chance(orderKey)); number++) {
            rows.read(ORDER_LINE, line(input.warehouse(), input.district(), order, number));
        }
    }

    /** The lines of the district's last twenty orders, and the stock of their items, which follow from their keys. */
    private void stockLevel(TpccInput.StockLevel input, Rows rows) {
        rows.read(DISTRICT, key(DISTRICT, input.warehouse(), input.district(), 0));
        int next = nextOrder[index(input.warehouse(), input.district())];
        for (int order = next - 20; order < next; order++) {
            long chance = chance(key(ORDERS, input.warehouse(), input.district(), order));
            for (int number = 1; number <= lines(chance); number++) {
                long line = line(input.warehouse(), input.district(), order, number);
                rows.read(ORDER_LINE, line);
                rows.read(STOCK, key(STOCK, input.warehouse(), 0, 1 + (int) (chance(line) % ITEMS)));
            }
        }
    }

    /** The rows of Item are written by nobody else: one lock and one key stand for them, with the bytes of all. */
    private void maintenance(Rows rows) {
        WorkloadModel.Maintenance maintenance = workload.maintenance();
        if (maintenance.structure()) {
            rows.keys.add(table(STOCK), KeyKind.EXCLUSIVE);
            rows.unlocked++;
            rows.bytes += ROW_HEADER_BYTES;
        }
        if (maintenance.rows() > 0) {
            rows.write(ITEM, key(ITEM, 0, 0, 1), KeyKind.UPDATE, true);
            rows.unlocked += maintenance.rows() - 1;
            rows.bytes += (maintenance.rows() - 1) * (BYTES[ITEM] + ROW_HEADER_BYTES + KEY_BYTES);
        }
    }

    private static long key(int table, int warehouse, int district, int number) {
        return (long) table << 58 | (long) warehouse << 42 | (long) district << 38 | (long) number << 4;
    }

    private static long line(int warehouse, int district, int order, int number) {
        return key(ORDER_LINE, warehouse, district, order) | number;
    }

    /** The key that stands for a whole table. */
    private static long table(int table) {
        return (long) table << 58 | (TABLE_KEY - 1L) << 30;
    }

    private byte[] bytes(int length) {
        return changes.computeIfAbsent(Math.max(1, length), byte[]::new);
    }

    /** Collects rows. */
    private final class Rows {
        private final KeySet.Builder keys = new KeySet.Builder();
        private final ReadSet.Builder reads = new ReadSet.Builder();
        private long[] locks = new long[64];
        private long[] readKeys = new long[32];
        private int locked;
        private int unlocked;
        private int readCount;
        private int tables;
        private int bytes;

        private void read(int table, long key) {
            if (readSets && !workload.deliveryLocks()) {
                reads.row(table(table), key);
            }
            if (sharedLocks) {
                readKeys = readCount == readKeys.length ? Arrays.copyOf(readKeys, 2 * readCount) : readKeys;
                readKeys[readCount++] = key;
            }
        }

        /** @param exists whether it was there before, so that others may want its lock; it has been read then */
        private void write(int table, long key, KeyKind kind, boolean exists) {
            if (exists) {
                for (int i = 0; i < locked; i++) {
                    if (locks[i] == key) {
                        return;
                    }
                }
                locks = locked == locks.length ? Arrays.copyOf(locks, 2 * locked) : locks;
                locks[locked++] = key;
                if (readSets && !workload.deliveryLocks()) {
                    reads.row(table(table), key);
                }
            } else {
                unlocked++;
            }
            keys.add(key, kind);
            bytes += BYTES[table] + ROW_HEADER_BYTES;
            tables |= 1 << table;
        }

        private KeySet keys() {
            for (int table = WAREHOUSE; table <= ITEM; table++) {
                if ((tables & 1 << table) != 0) {
                    keys.add(table(table), KeyKind.REFERENCE);
                }
            }
            return keys.build();
        }

        private long[] shared() {
            return Arrays.stream(readKeys, 0, readCount).distinct()
                    .filter(key -> Arrays.stream(locks, 0, locked).noneMatch(one -> one == key)).toArray();
        }
    }
}
