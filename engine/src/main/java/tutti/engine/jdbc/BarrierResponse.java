package tutti.engine.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.EngineFailure;

/**
 * What a client hears of a {@link BarrierStatement}.
 *
 * @param sqlState {@code 00000} if it took effect
 * @param message why not
 */
public record BarrierResponse(String sqlState, String message) {
    private static final String SUCCESS = "00000";

    static BarrierResponse success() {
        return new BarrierResponse(SUCCESS, "");
    }

    static BarrierResponse refused(SQLException why) {
        String state = why.getSQLState();
        return new BarrierResponse(state == null || state.length() != 5 ? "HY000" : state,
                String.valueOf(why.getMessage()));
    }

    static BarrierResponse refused(EngineFailure why) {
        return new BarrierResponse(why.sqlState(), why.message());
    }

    /** As {@link tutti.core.spi.Engine.ExecuteResult} carries it. */
    byte[] toBytes() {
        return (sqlState + message).getBytes(StandardCharsets.UTF_8);
    }

    /** Reads it; a response of no bytes is of a statement whose answer was lost with its node. */
    public static @Nullable BarrierResponse of(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        return text.length() < SUCCESS.length() ? null : new BarrierResponse(text.substring(0, 5), text.substring(5));
    }

    /** The client's error, or null if the statement took effect. */
    public @Nullable SQLException error() {
        return sqlState.equals(SUCCESS) ? null : new SQLException(message, sqlState);
    }
}
