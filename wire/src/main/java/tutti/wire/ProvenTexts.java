package tutti.wire;

import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * What has been found of statements' texts, so that a text which is prepared again and again, by drivers that keep no statements or by many
 * sessions, is proven once (docs/decisions/0197). It holds as long as all that a proof looks at is the same; whatever else is found of the same
 * text is found anew. At most {@value #TEXTS_MAX} texts of {@value #BYTES_MAX} bytes; when there are more, all are forgotten.
 * Safe for use from any thread.
 */
final class ProvenTexts {
    static final int TEXTS_MAX = 512;
    static final int BYTES_MAX = 2_000;

    /**
     * What a proof depends on beside the text and who executes it.
     *
     * @param leavesOut whether columns may be left out of what is told
     * @param large of how many tables large rows have been seen, which become more only
     */
    record Ground(InBandTables tables, TableCatalog catalog, boolean leavesOut, int large) {
        @SuppressWarnings("ReferenceEquality") // whether they are equal takes longer to find out
        boolean is(Ground other) {
            return tables == other.tables && catalog == other.catalog && leavesOut == other.leavesOut
                    && large == other.large;
        }
    }

    private record Text(byte[] sql, boolean standardStrings, String role) {
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Text that && standardStrings == that.standardStrings && role.equals(that.role)
                    && Arrays.equals(sql, that.sql);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(sql);
        }
    }

    /** @param statement null if nothing can be proven */
    private record Found(@Nullable InBandStatement statement) {}

    private record Known(Ground ground, ConcurrentHashMap<Text, Found> texts) {
        static Known nothing(Ground ground) {
            return new Known(ground, new ConcurrentHashMap<>());
        }
    }

    private volatile @Nullable Known known;

    /**
     * What is found of a text.
     *
     * @param sql as long as {@code length}
     * @param proof finds it, from nothing but the other parameters
     */
    @Nullable
    InBandStatement of(Ground ground, byte[] sql, int length, boolean standardStrings, String role,
            Supplier<@Nullable InBandStatement> proof) {
        if (length > BYTES_MAX) {
            return proof.get();
        }
        Known now = known;
        if (now == null || !now.ground.is(ground) || now.texts.size() >= TEXTS_MAX) {
            now = Known.nothing(ground);
            known = now;
        }
        Text text = new Text(Arrays.copyOf(sql, length), standardStrings, role);
        Found found = now.texts.get(text);
        if (found == null) {
            found = new Found(proof.get());
            now.texts.put(text, found);
        }
        return found.statement;
    }
}
