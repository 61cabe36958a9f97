package tutti.pgfront;

import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.wire.KeptBytes;

/**
 * What a client has by name, its prepared statements and portals, and what of the node's room they take. What it has named stays; what it has not,
 * and portals, are gone soon: these share the room of results, which is larger. One thread.
 */
final class NamedObjects {
    /** What a statement takes in any case, the engine's part of it included, and each of its words; estimated. */
    private static final int STATEMENT_BYTES = 1 << 10;
    private static final int WORD_BYTES = 64;

    private final KeptBytes named;
    private final KeptBytes results;
    private final Map<String, Prepared> statements = new HashMap<>();
    private final Map<String, Portal> portals = new HashMap<>();

    /** What all clients of a node keep; of messages, long ones that are coming or being dealt with. */
    record Shared(KeptBytes.Shared statements, KeptBytes.Shared results, KeptBytes.Shared messages) {}

    /** Of a client that has nothing so far. */
    NamedObjects(Shared shared) {
        this.named = new KeptBytes(shared.statements());
        this.results = new KeptBytes(shared.results());
    }

    /** The room for results. */
    KeptBytes results() {
        return results;
    }

    /**
     * Takes room.
     *
     * @return how much
     * @throws SQLException with {@code 53200} if there is not enough, and with {@code 54000} if there never is
     */
    static long take(KeptBytes room, long bytes) throws SQLException {
        if (bytes > room.most()) {
            throw new SQLException(
                    "a statement with its values takes " + bytes + " bytes, and all that a client has prepared"
                            + " may take " + room.most() + ": send less at a time, or prepare it without a name",
                    "54000");
        }
        if (!room.take(bytes)) {
            throw new SQLException(
                    "what clients of this node have prepared leaves no room for this: try again later, or close"
                            + " statements and portals",
                    "53200");
        }
        return bytes;
    }

    // ------------------------------------------------------------------------------------------ prepared statements

    boolean hasStatement(String name) {
        return statements.containsKey(name);
    }

    /** A statement of that name, or null. */
    @Nullable
    Prepared known(String name) {
        return statements.get(name);
    }

    /** @throws SQLException with {@code 26000} if there is none of that name */
    Prepared statement(String name) throws SQLException {
        Prepared prepared = statements.get(name);
        if (prepared == null) {
            throw new SQLException(name.isEmpty()
                    ? "unnamed prepared statement does not exist"
                    : "prepared statement \"" + name + "\" does not exist", "26000");
        }
        return prepared;
    }

    /**
     * A statement takes the place of the one before, if it is unnamed.
     *
     * @param bytes of its text
     * @throws SQLException if there is no room, as {@link #take}; then it is closed, and the one before stays
     */
    void put(String name, Prepared prepared, long bytes) throws SQLException {
        KeptBytes room = name.isEmpty() ? results : named;
        try {
            prepared.has(room, take(room, STATEMENT_BYTES + bytes + prepared.statement().sql().length()
                    + (long) WORD_BYTES * prepared.statement().tokens().size()));
        } catch (SQLException full) {
            prepared.close();
            throw full;
        }
        Prepared before = statements.put(name, prepared);
        if (before != null) {
            before.close();
        }
    }

    /** Lays a statement aside, until {@link #putBack}; null if there is none of that name. */
    @Nullable
    Prepared layAside(String name) {
        return statements.remove(name);
    }

    /** A statement that was laid aside is there again, unless there is another one. */
    void putBack(String name, @Nullable Prepared aside) {
        if (aside != null && statements.putIfAbsent(name, aside) != null) {
            forget(aside);
        }
    }

    /** Forgets a statement, if there is one of that name, and its portals. */
    void forgetStatement(String name) {
        Prepared closed = statements.remove(name);
        if (closed != null) {
            forget(closed);
        }
    }

    private void forget(Prepared closed) {
        portals.values().removeIf(portal -> {
            boolean its = portal.prepared.equals(closed);
            if (its) {
                portal.close();
            }
            return its;
        });
        closed.close();
    }

    /** Forgets all statements and portals. */
    void forgetAll() {
        forgetPortals();
        statements.values().forEach(Prepared::close);
        statements.clear();
    }

    // ------------------------------------------------------------------------------------------ portals

    /** @throws SQLException with {@code 34000} if there is none of that name */
    Portal portal(String name) throws SQLException {
        Portal portal = portals.get(name);
        if (portal == null) {
            throw new SQLException("portal \"" + name + "\" does not exist", "34000");
        }
        return portal;
    }

    /**
     * Makes a portal, in the place of the one before if it is unnamed.
     *
     * @param bytes of its values
     * @throws SQLException with {@code 42P03} if there is one of that name, and as {@link Portal#of}
     */
    void bind(String name, Prepared prepared, @Nullable Object[] values, short[] formats, long bytes)
            throws SQLException {
        if (!name.isEmpty() && portals.containsKey(name)) {
            throw new SQLException("cursor \"" + name + "\" already exists", "42P03");
        }
        Portal before = portals.put(name, Portal.of(prepared, values, formats, results, bytes));
        if (before != null) {
            before.close();
        }
    }

    /** Forgets a portal, if there is one of that name. */
    void forgetPortal(String name) {
        Portal closed = portals.remove(name);
        if (closed != null) {
            closed.close();
        }
    }

    void forgetPortals() {
        portals.values().forEach(Portal::close);
        portals.clear();
    }

    /** The client is gone. */
    void close() {
        forgetAll();
        named.close();
        results.close();
    }
}
