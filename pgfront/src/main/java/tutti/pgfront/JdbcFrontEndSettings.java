package tutti.pgfront;

import java.net.InetSocketAddress;
import tutti.engine.jdbc.InProcessEngine;
import tutti.wire.AdmissionLimits;

/**
 * How the front end of a database in the node's virtual machine is set up. Immutable.
 *
 * @param listen address to listen on; port 0 for any free one
 * @param database its name
 * @param role the one role that may connect
 * @param password its password
 * @param admission what else it asks of clients
 * @param engine which it is
 * @param transactionBytesMax how many bytes of changes one transaction may make
 * @param resultBytesMax how many bytes results may have that clients have not read to their ends, of all together, with what these have bound
 * @param sequenceStep by how much the increments of sequences have been multiplied, so that nodes give different values
 * @param repetitions how often a transaction that has lost is run again before its client hears of it; 0 if not at all
 */
public record JdbcFrontEndSettings(InetSocketAddress listen, String database, String role, String password,
        AdmissionLimits admission,
        InProcessEngine engine, int transactionBytesMax, long resultBytesMax, int sequenceStep, int repetitions) {
    /** Without the password. */
    @Override
    public String toString() {
        return "JdbcFrontEndSettings[listen=" + listen + ", database=" + database + ", role=" + role + "]";
    }
}
