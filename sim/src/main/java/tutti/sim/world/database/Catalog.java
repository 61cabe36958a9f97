package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.List;
import tutti.core.txn.RowLock;

/**
 * Which rows there may be, and how they are called in write sets, read sets and conflict classes. Rows are named by longs.
 * Two tables hold lists, row k in table k modulo 2: {@code 0, 1, 2, ...}, without bound. A third holds registers, few of
 * them, which come and go. A fourth holds links, each of which refers to a register, which must be there as long as the link is: a
 * foreign key.
 */
public final class Catalog {
    /** Tables, numbered from 0. */
    public static final int TABLES = 4;
    /** Tables of lists, the first ones. */
    public static final int LIST_TABLES = 2;
    /** The table of registers. */
    public static final int REGISTER_TABLE = 2;
    /** The table of links. */
    public static final int LINK_TABLE = 3;
    /** How many registers there may be. */
    public static final int REGISTERS = 12;
    /** How many advisory locks there are. */
    public static final int ADVISORY_LOCKS = 3;
    /** How many links there may be. */
    public static final int LINKS = 6;

    private static final long REGISTER_BASE = 1L << 40;
    private static final long LINK_BASE = 1L << 41;
    private static final long ADVISORY_BASE = 1L << 42;
    /** In place of a table's key, of advisory locks. */
    static final long ADVISORY_KEY = ADVISORY_BASE - 1;

    private static final long LOCK_KEYS = 1L << 60;
    private static final long KEY_KEYS = 1L << 61;
    private static final long ROW_KEYS = 1000;
    private static final List<Long> ALL_REGISTERS = all(REGISTER_BASE, REGISTERS);
    private static final List<Long> ALL_LINKS = all(LINK_BASE, LINKS);

    private Catalog() {}

    private static List<Long> all(long base, int count) {
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(base + i);
        }
        return List.copyOf(all);
    }

    /** The row of a register, 0 to {@link #REGISTERS} exclusive. */
    public static long register(int number) {
        return REGISTER_BASE + number;
    }

    /** The row of a link, 0 to {@link #LINKS} exclusive. */
    public static long link(int number) {
        return LINK_BASE + number;
    }

    /** What stands for an advisory lock in place of a row, 0 to {@link #ADVISORY_LOCKS} exclusive. */
    public static long advisory(int number) {
        return ADVISORY_BASE + number;
    }

    /** Whether it stands for an advisory lock. */
    static boolean isAdvisory(long row) {
        return row >= ADVISORY_BASE;
    }

    /** The rows of all links that there may be. */
    static List<Long> allLinks() {
        return ALL_LINKS;
    }

    /** Whether a row is a link. */
    static boolean isLink(long row) {
        return row >= LINK_BASE && row < ADVISORY_BASE;
    }

    /** Whether a row is a register. */
    static boolean isRegister(long row) {
        return row >= REGISTER_BASE && row < LINK_BASE;
    }

    /** The register that a link refers to, by what the link holds. */
    static long referred(int[] link) {
        return REGISTER_BASE + link[0];
    }

    /** The rows of all registers that there may be. */
    static List<Long> allRegisters() {
        return ALL_REGISTERS;
    }

    /** Whether a row holds a list. */
    public static boolean isList(long row) {
        return row < REGISTER_BASE;
    }

    /** The table of a row. */
    public static int table(long row) {
        return isList(row) ? (int) (row % LIST_TABLES) : isRegister(row) ? REGISTER_TABLE : LINK_TABLE;
    }

    /** Key of a row in write and read sets. */
    static long rowKey(long row) {
        return ROW_KEYS + row;
    }

    /** The keys of a row that is locked, or of an advisory lock: of that the first alone. */
    static RowLock.Keys lockKeys(long row) {
        long key = rowKey(row);
        return new RowLock.Keys(key, key | LOCK_KEYS, key | KEY_KEYS);
    }

    /** Key of a table in write and read sets, and its conflict class. */
    public static long tableKey(int table) {
        return 1L + table;
    }

    /** A row as people call it. */
    public static String name(long row) {
        return isList(row)
                ? "list " + row
                : isRegister(row)
                        ? "register " + (row - REGISTER_BASE)
                        : isLink(row) ? "link " + (row - LINK_BASE) : "advisory lock " + (row - ADVISORY_BASE);
    }
}
