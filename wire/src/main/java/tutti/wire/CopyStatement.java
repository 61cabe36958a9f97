package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.wire.sql.SqlTokens;

/** Judges COPY, whose first word has been read. */
final class CopyStatement {
    private static final long FROM = SqlTokens.key("from");
    private static final long STDIN = SqlTokens.key("stdin");

    private final SqlCursor sql;
    private final Supplier<PlacedTables> placed;
    private @Nullable String refusal;

    /** @param placed tables that some nodes lack; asked for each statement */
    CopyStatement(SqlCursor sql, Supplier<PlacedTables> placed) {
        this.sql = sql;
        this.placed = placed;
    }

    /** Of a table it is a read; a query in parentheses is taken for a write. */
    StatementKind judge() {
        refusal = null;
        if (sql.at('(')) {
            return StatementKind.WRITE;
        }
        boolean catalog = CatalogWrites.begin(sql);
        boolean from = false;
        boolean stdin = false;
        boolean name = true;
        String lacked = null;
        while (sql.inStatement()) {
            name &= !sql.at('(') && !sql.atWord(Classifier.TO);
            if (name && lacked == null) {
                // PostgreSQL copies a table that is empty here without planning anything, so that the engine does not notice
                lacked = placed.get().lacked(table -> sql.named(key(table)));
            }
            from |= sql.atWord(FROM);
            stdin |= sql.atWord(STDIN);
            sql.advance();
        }
        refusal = catalog && from ? CatalogWrites.REFUSAL : from ? null : lacked;
        return refusal != null
                ? StatementKind.REFUSED
                : !from ? StatementKind.READ : stdin ? StatementKind.COPY_IN : StatementKind.WRITE;
    }

    /** Tokens are of bytes. */
    private static long key(String name) {
        return SqlTokens.key(new String(name.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1));
    }

    /** Why it is refused. */
    String refusal() {
        return refusal == null ? "" : refusal;
    }
}
