package tutti.sim.world.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Which rows there may be, and how they are called in write sets, read sets and conflict classes. Rows are named by longs.
 * Two tables hold lists, row k in table k modulo 2: {@code 0, 1, 2, ...}, without bound. A third holds registers, few of
 * them, which come and go.
 */
public final class Catalog {
    /** Tables, numbered from 0. */
    public static final int TABLES = 3;
    /** Tables of lists, the first ones. */
    public static final int LIST_TABLES = 2;
    /** The table of registers. */
    public static final int REGISTER_TABLE = 2;
    /** How many registers there may be. */
    public static final int REGISTERS = 12;

    private static final long REGISTER_BASE = 1L << 40;
    private static final long ROW_KEYS = 1000;
    private static final List<Long> ALL_REGISTERS = registers();

    private Catalog() {}

    private static List<Long> registers() {
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < REGISTERS; i++) {
            all.add(register(i));
        }
        return List.copyOf(all);
    }

    /** The row of a register, 0 to {@link #REGISTERS} exclusive. */
    public static long register(int number) {
        return REGISTER_BASE + number;
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
    static int table(long row) {
        return isList(row) ? (int) (row % LIST_TABLES) : REGISTER_TABLE;
    }

    /** Key of a row in write and read sets. */
    static long rowKey(long row) {
        return ROW_KEYS + row;
    }

    /** Key of a table in write and read sets, and its conflict class. */
    static long tableKey(int table) {
        return 1L + table;
    }

    /** Whether it is the key of this table or of one of its rows. */
    static boolean isKeyOf(int table, long key) {
        return key == tableKey(table) || (key >= ROW_KEYS && table(key - ROW_KEYS) == table);
    }

    /** A row as people call it. */
    public static String name(long row) {
        return isList(row) ? "list " + row : "register " + (row - REGISTER_BASE);
    }
}
