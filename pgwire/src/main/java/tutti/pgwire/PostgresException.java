package tutti.pgwire;

/** A PostgreSQL server answered with an error. */
public final class PostgresException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final transient ErrorFields fields;

    /** Carries the error's fields. */
    public PostgresException(ErrorFields fields) {
        super(fields.toString());
        this.fields = fields;
    }

    /** What the server said. */
    public ErrorFields fields() {
        return fields;
    }

    /** The SQLSTATE, five characters. */
    public String sqlState() {
        return fields.sqlState();
    }
}
