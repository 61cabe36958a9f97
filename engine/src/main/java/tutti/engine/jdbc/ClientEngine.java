package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;

/** An engine on which clients of the same virtual machine run their transactions. Safe for use from any thread. */
public interface ClientEngine extends Engine {
    /**
     * Opens a session for a client.
     *
     * @param current the client's open transaction that may be rolled back, or null; called from any thread
     */
    ClientSession openSession(Supplier<? extends @Nullable LocalTransaction> current) throws SQLException;

    /** The procedures in Java that its executors may execute. */
    default JavaCall.Known procedures() {
        return JavaCall.Known.NONE;
    }

    /** Of requests that are {@link ClientRequest}s; what they answer is a {@link ClientAnswer}. */
    @Override
    default Executor openExecutor() {
        return new JdbcExecutor(this);
    }
}
