package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Pattern;

/** What databases of this virtual machine have in common: a name, a connection that keeps them open, and their ends. */
public abstract class OpenedDatabase implements EmbeddedDatabase {
    private static final Pattern COUNTERS = Pattern.compile("(RE)?START WITH -?\\d+");

    private final String name;
    private final boolean durable;
    private final Connection keeper;

    /**
     * An open database.
     *
     * @param name for people
     * @param durable whether it is in files
     * @param keeper stays open as long as it
     */
    protected OpenedDatabase(String name, boolean durable, Connection keeper) {
        this.name = name;
        this.durable = durable;
        this.keeper = keeper;
    }

    /** Another thread may use it for {@link #sync}. */
    protected final Connection keeper() {
        return keeper;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final boolean durable() {
        return durable;
    }

    @Override
    public final String schema(Connection connection) throws SQLException {
        StringBuilder schema = new StringBuilder();
        for (String line : script(connection)) {
            schema.append(COUNTERS.matcher(line).replaceAll("")).append('\n');
        }
        return schema.toString();
    }

    /** A name as it stands in SQL, whatever its characters. */
    protected static String quote(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    /** Likewise, in a format. */
    protected static String escaped(String name) {
        return quote(name).replace("%", "%%");
    }

    @Override
    public final void close() {
        end("SHUTDOWN");
    }

    @Override
    public final void crash() {
        end("SHUTDOWN IMMEDIATELY");
    }

    private void end(String how) {
        try (keeper; Statement statement = keeper.createStatement()) {
            statement.execute(how);
        } catch (SQLException closed) {
            // The database is closed, as it should be; or it was before.
        }
    }
}
