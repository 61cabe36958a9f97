package tutti.wire;

import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * What has been found of statements' texts, so that a text which is parsed again and again, by drivers that keep no statements or by many
 * sessions, is proven once (docs/decisions/0205). It holds as long as all that a proof looks at is the same; whatever else is found of the same
 * text is found anew.
 *
 * <p>
 * Bounded: two generations of {@value #TEXTS_MAX} texts of {@value #BYTES_MAX} bytes at most. When the younger is full it becomes the older, whose
 * texts are forgotten unless they have been asked for meanwhile: texts that come once, with their values in them, do not displace those that come
 * often. Safe for use from any thread.
 */
final class ProvenTexts {
    static final int TEXTS_MAX = 256;
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

    /**
     * Who says what.
     *
     * @param sql in which it stands up to its length: a session's own, which changes, while it is looked for, and a copy when it is kept
     */
    private record Text(byte[] sql, int length, StatementContext speaker) {
        Text kept(@Nullable InBandStatement found) {
            return new Text(found == null ? Arrays.copyOf(sql, length) : found.original(), length, speaker);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Text that && Arrays.equals(sql, 0, length, that.sql, 0, that.length)
                    && speaker.equals(that.speaker);
        }

        @Override
        public int hashCode() {
            int hash = speaker.hashCode();
            for (int i = 0; i < length; i++) {
                hash = 31 * hash + sql[i];
            }
            return hash;
        }
    }

    /** @param statement null if nothing can be proven */
    private record Found(@Nullable InBandStatement statement) {}

    private record Known(Ground ground, ConcurrentHashMap<Text, Found> young, ConcurrentHashMap<Text, Found> old) {
        static Known nothing(Ground ground) {
            return new Known(ground, new ConcurrentHashMap<>(), new ConcurrentHashMap<>());
        }

        Known aged() {
            return new Known(ground, new ConcurrentHashMap<>(), young);
        }
    }

    private volatile @Nullable Known known;

    /**
     * What is found of a text.
     *
     * @param sql as long as {@code length}; it may be changed afterwards
     * @param proof finds it, from nothing but the other parameters, and keeps a copy of the text
     */
    @Nullable
    InBandStatement of(Ground ground, byte[] sql, int length, StatementContext speaker,
            Supplier<@Nullable InBandStatement> proof) {
        if (length > BYTES_MAX) {
            return proof.get();
        }
        Known now = known;
        if (now == null || !now.ground().is(ground)) {
            now = Known.nothing(ground);
            known = now;
        }
        Text text = new Text(sql, length, speaker);
        Found found = now.young().get(text);
        if (found == null) {
            Found before = now.old().get(text);
            found = before == null ? new Found(proof.get()) : before;
            if (now.young().size() >= TEXTS_MAX) {
                now = now.aged();
                known = now;
            }
            now.young().put(text.kept(found.statement()), found);
        }
        return found.statement();
    }
}
