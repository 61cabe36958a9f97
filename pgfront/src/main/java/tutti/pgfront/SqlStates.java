package tutti.pgfront;

import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;

/** An engine's errors as PostgreSQL's: clients and libraries decide by SQLSTATE what to do next. */
final class SqlStates {
    private static final String CANCELLED = "57014";
    /** HSQLDB's state for this is also its state for transactions that gave way. */
    private static final String HSQLDB_CANCELLED = "40502";
    private static final String SERIALIZATION = "40001";
    /** H2's state of a number that is out of range is another error in the standard. */
    private static final int H2_OUT_OF_RANGE = 22004;
    private static final Map<String, String> STATES = Map.ofEntries(
            // H2
            Map.entry("42000", "42601"), Map.entry("42001", "42601"), Map.entry("42S01", "42P07"),
            Map.entry("42S02", "42P01"), Map.entry("42S03", "42P01"), Map.entry("42S04", "42P01"),
            Map.entry("42S11", "42P07"), Map.entry("42S12", "42704"), Map.entry("42S21", "42701"),
            Map.entry("42S22", "42703"), Map.entry("42S31", "42804"), Map.entry("21S02", "42601"),
            Map.entry("HY004", "42704"), Map.entry("HYC00", "0A000"), Map.entry("HYT00", "55P03"),
            Map.entry("22018", "22P02"), Map.entry("23506", "23503"), Map.entry("23507", "23503"),
            Map.entry("23513", "23514"), Map.entry("90016", "42803"), Map.entry("90022", "42883"),
            Map.entry("90028", "22P02"), Map.entry("90036", "42P01"), Map.entry("90037", "42P01"),
            Map.entry("90038", "42P07"), Map.entry("90035", "42P07"), Map.entry("90045", "42710"),
            Map.entry("90057", "42704"), Map.entry("90059", "42702"), Map.entry("90063", "3B001"),
            Map.entry("90067", "57P01"), Map.entry("90069", "42P06"), Map.entry("90078", "42P06"),
            Map.entry("90079", "3F000"), Map.entry("90080", "3F000"), Map.entry("90085", "2BP01"),
            Map.entry("90098", "57P01"), Map.entry("90106", "2BP01"), Map.entry("90107", "2BP01"),
            Map.entry("90121", "57P01"), Map.entry("90131", SERIALIZATION), Map.entry("90148", "55000"),
            // HSQLDB
            Map.entry("23504", "23503"), Map.entry("40501", SERIALIZATION), Map.entry("40502", SERIALIZATION),
            Map.entry("42501", "42P01"), Map.entry("42502", "42P01"), Map.entry("42503", "42703"),
            Map.entry("42504", "42P07"), Map.entry("42505", "42P07"), Map.entry("42509", "42704"),
            Map.entry("42536", "2BP01"), Map.entry("42546", "42601"), Map.entry("42561", "42804"),
            Map.entry("42562", "42804"), Map.entry("42563", "42804"), Map.entry("42567", "42P18"),
            Map.entry("42565", "42804"),
            Map.entry("42574", "42803"), Map.entry("42581", "42601"), Map.entry("42582", "42601"),
            Map.entry("42584", "42601"), Map.entry("42590", "42601"), Map.entry("42593", "42601"),
            Map.entry("42597", "42601"));

    private SqlStates() {}

    /**
     * What the client is told.
     *
     * @param cancelled why the statement was cancelled, or null
     */
    static ErrorFields of(SQLException failed, @Nullable String cancelled) {
        String state = failed.getSQLState() == null ? "XX000" : failed.getSQLState();
        if (failed.getErrorCode() == H2_OUT_OF_RANGE) {
            state = "22003";
        }
        if (cancelled != null && !state.startsWith("08")
                && (!state.startsWith("40") || state.equals(HSQLDB_CANCELLED))) {
            return ErrorFields.of("ERROR", CANCELLED, cancelled);
        }
        String told = STATES.getOrDefault(state, state.startsWith("HY") || state.length() != 5 ? "XX000" : state);
        String message = message(failed);
        if (told.equals(SERIALIZATION)) {
            return ErrorFields
                    .of("ERROR", told, "could not serialize access due to a concurrent transaction")
                    .with('D', Character.toUpperCase(message.charAt(0)) + message.substring(1) + ".")
                    .with('H', "The transaction might succeed if retried.");
        }
        return ErrorFields.of("ERROR", told, message);
    }

    /** Without the statement, which both engines repeat. */
    private static String message(SQLException failed) {
        String message = failed.getMessage() == null || failed.getMessage().isBlank()
                ? failed.getClass().getSimpleName()
                : failed.getMessage();
        int statement = Math.max(message.indexOf("; SQL statement:"), message.indexOf(" in statement ["));
        return statement > 0 ? message.substring(0, statement) : message;
    }
}
