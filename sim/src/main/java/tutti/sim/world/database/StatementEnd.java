package tutti.sim.world.database;

/** How a statement ended. */
public enum StatementEnd {
    /** It was carried out. */
    DONE("done"),
    /** It has waited in a circle; the transaction is rolled back. */
    DEADLOCK("deadlock"),
    /** A row that it changes was changed by another transaction since the snapshot, or is held by one for which this engine does not wait; the transaction is rolled back. */
    FIRST_UPDATER("first-updater"),
    /** A foreign key forbids it; the transaction is rolled back. */
    FOREIGN_KEY("foreign-key"),
    /** It names a table that is kept on other nodes only; the transaction is rolled back. */
    NOT_HERE("not here"),
    /** The connection is lost, and with it the transaction. */
    DISCONNECTED("disconnect");

    private final String label;

    StatementEnd(String label) {
        this.label = label;
    }

    /** A short stable name. */
    public String label() {
        return label;
    }
}
