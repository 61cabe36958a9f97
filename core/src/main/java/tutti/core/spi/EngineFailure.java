package tutti.core.spi;

/**
 * What an engine says when it cannot do something.
 *
 * @param sqlState five characters, as the SQL standard and PostgreSQL define them
 * @param message for the person who reads it
 * @param transientFailure whether the same thing may work if it is tried again (deadlock, serialization failure, lost
 *            connection)
 */
public record EngineFailure(String sqlState, String message, boolean transientFailure) {}
