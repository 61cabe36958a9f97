package tutti.jdbc.spi;

import java.sql.Connection;

/** A database's own connection, on which a statement runs for the time being. */
public interface Target {
    /** The connection. */
    Connection connection();

    /** Whether nothing is known that makes it useless. */
    boolean usable();
}
