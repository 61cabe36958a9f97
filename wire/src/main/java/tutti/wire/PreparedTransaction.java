package tutti.wire;

/**
 * What a client says of a transaction that it prepares, or has prepared.
 *
 * @param literal its identifier, as an SQL literal
 * @param commits whether it is committed, and not rolled back; of no meaning when it is prepared
 */
record PreparedTransaction(String literal, boolean commits) {
    /** How PostgreSQL calls its end. */
    String command() {
        return commits ? "COMMIT PREPARED" : "ROLLBACK PREPARED";
    }

    /** A statement of one row: the identifier, the role, the time; it fails if the open transaction may not be prepared under that. */
    String preparing() {
        return "SELECT " + literal + "::pg_catalog.text, current_user::pg_catalog.text,"
                + " pg_catalog.clock_timestamp()::pg_catalog.text, tutti.may_prepare(" + literal + ")";
    }

    /** A statement of one row: the identifier, the role. */
    String finishing() {
        return "SELECT " + literal + "::pg_catalog.text, current_user::pg_catalog.text";
    }
}
