package tutti.engine.postgres.capture;

import java.util.Set;
import tutti.core.txn.WriteSet;

/**
 * A write set, together with what its keys mean in words, for the error that a client gets when one of them is lost.
 *
 * @param writes what travels
 * @param origins where each key comes from
 * @param schemaChanged whether the schema was changed
 * @param takenWithoutKey tables of which rows were updated or deleted that no key names, as a person reads them
 * @param large object ids of tables of which a statement has told whole rows, some of {@link #LARGE} bytes and more, that it updated
 */
public record CapturedWriteSet(WriteSet writes, Origins origins, boolean schemaChanged, Set<String> takenWithoutKey,
        Set<Long> large) {
    /** From that many bytes on a row is likely to have values that are stored apart. */
    public static final int LARGE = 2_000;

    /**
     * In words: {@code table public.district, key (d_w_id, d_id) = (1, 7)}.
     *
     * @param key its index in the write set's keys
     */
    public String describe(int key) {
        return origins.describe(key);
    }
}
