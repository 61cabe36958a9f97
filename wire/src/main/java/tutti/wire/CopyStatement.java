package tutti.wire;

import java.util.function.BooleanSupplier;
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
    private final BooleanSupplier utf8;
    private @Nullable String refusal;

    /**
     * Of a session.
     *
     * @param placed tables that some nodes lack; asked for each statement
     * @param utf8 whether texts are in UTF-8
     */
    CopyStatement(SqlCursor sql, Supplier<PlacedTables> placed, BooleanSupplier utf8) {
        this.sql = sql;
        this.placed = placed;
        this.utf8 = utf8;
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
                lacked = lacked();
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

    private @Nullable String lacked() {
        boolean readable = utf8.getAsBoolean();
        String why = placed.get().lacked(table -> sql.mayName(table, readable));
        return why == null || !sql.isUnclear(readable)
                ? why
                : why + "; which table COPY means cannot be told: write its name without U&, in 63 bytes at most, and in UTF-8";
    }

    /** Why it is refused. */
    String refusal() {
        return refusal == null ? "" : refusal;
    }
}
