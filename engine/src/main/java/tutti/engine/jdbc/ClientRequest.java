package tutti.engine.jdbc;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.PortableValues;

/**
 * A client's whole request: statements that are one transaction.
 *
 * @param schema the current schema when they are executed, as the engine spells it
 * @param calls at least one
 */
public record ClientRequest(String schema, List<Call> calls) {
    /**
     * One statement.
     *
     * @param parameters its values, as JDBC takes them
     * @param java if it calls a procedure in Java: then the statement answers one row, whose columns behind the first are the arguments
     */
    public record Call(String sql, List<? extends @Nullable Object> parameters, @Nullable JavaCall java) {
        /** Of a statement that is all. */
        public Call(String sql, List<? extends @Nullable Object> parameters) {
            this(sql, parameters, null);
        }
    }

    /** Of one statement. */
    public static ClientRequest of(String schema, String sql, @Nullable Object... parameters) {
        return new ClientRequest(schema, List.of(new Call(sql, Arrays.asList(parameters))));
    }

    /** In the form that {@link tutti.core.spi.Engine.Executor#execute} takes. */
    public byte[] toBytes() {
        List<@Nullable Object> all = new ArrayList<>();
        all.add(schema);
        for (Call call : calls) {
            JavaCall java = call.java();
            all.add(java == null ? call.sql() : java.with(call.sql()));
            all.add(PortableValues.of(call.parameters()));
        }
        return PortableValues.toBytes(all);
    }

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    static ClientRequest of(byte[] bytes) {
        List<@Nullable Object> all = PortableValues.read(bytes);
        List<Call> calls = new ArrayList<>();
        for (int i = 1; i + 1 < all.size(); i += 2) {
            JavaCall java = all.get(i) instanceof List<?> parts ? JavaCall.of(parts) : null;
            Object text = java != null && all.get(i) instanceof List<?> parts ? parts.getFirst() : all.get(i);
            if (!(text instanceof String sql && all.get(i + 1) instanceof List<?> parameters)) {
                throw new IllegalArgumentException("a damaged request");
            }
            calls.add(new Call(sql, parameters, java));
        }
        if (calls.isEmpty() || !(all.getFirst() instanceof String schema)) {
            throw new IllegalArgumentException("a request without statements");
        }
        return new ClientRequest(schema, calls);
    }
}
