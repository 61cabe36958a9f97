package tutti.engine.jdbc;

/** Whose SQL a database in the virtual machine understands. The same for all replicas of a database, and for good. */
public enum SqlSyntax {
    /** Its own. */
    OWN,
    /** Its own and, as far as the engine goes along, PostgreSQL's. */
    POSTGRES
}
