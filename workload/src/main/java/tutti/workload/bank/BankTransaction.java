package tutti.workload.bank;

import tutti.workload.client.ClientOutcome;

/**
 * A bank transaction as its client saw it. Instants are nanoseconds of one clock, the same for all clients.
 *
 * @param session transactions of a session follow one another
 * @param node where it ran: index of the database
 * @param begunNanos before it was begun
 * @param endedNanos after the client knew how it ended
 * @param outcome how it ended
 * @param operation what it did
 */
public record BankTransaction(int session, int node, long begunNanos, long endedNanos, ClientOutcome outcome,
        BankOperation operation) {}
