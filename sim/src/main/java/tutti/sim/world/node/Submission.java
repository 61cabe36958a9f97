package tutti.sim.world.node;

import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.node.Transactions;
import tutti.sim.world.database.Program;

/**
 * A transaction as a client hands it in.
 *
 * @param session transactions of a session follow one another
 * @param program what it does
 * @param form how much is told of it beforehand
 * @param fresh whether its session has it see what has been delivered to its node before it begins
 * @param rollsBack whether its client gives it up in the end
 * @param loses whether its session's connection to the database dies while it waits for its outcome
 * @param serializable whether it asks to be serializable, if its node grants that to some
 */
public record Submission(int session, Program program, Form form, boolean fresh, boolean rollsBack, boolean loses,
        boolean serializable) {
    /** How much is told of a transaction before it runs. */
    public enum Form {
        /** Nothing: statements come one by one. */
        UNDECLARED,
        /** Its conflict classes. */
        DECLARED,
        /** Everything; what it does differs from run to run. */
        WHOLE_VARYING,
        /** Everything. */
        WHOLE,
        /** Everything, and its client wants every node to execute it. */
        WHOLE_EVERYWHERE
    }

    /** Who executes a transaction. */
    enum Place {
        /** The node of its client, in its session. */
        HERE,
        /** The owner of its log. */
        OWNER,
        /** Every node. */
        EVERYWHERE
    }

    /** Who executes it, as front ends decide that now. */
    Place place(Transactions node) {
        if (!program.writes()) {
            return Place.HERE;
        }
        return switch (form) {
            case UNDECLARED, DECLARED -> Place.HERE;
            // Where every node executes what it can, only those that an owner must, such as what is acknowledged when it is logged.
            case WHOLE_VARYING -> node.undertakes() && (!node.everywhereIfPossible() || session % 2 == 1)
                    ? Place.OWNER
                    : Place.HERE;
            case WHOLE -> node.wholeOnly() || node.everywhereIfPossible()
                    ? Place.EVERYWHERE
                    : node.undertakes() ? Place.OWNER : Place.HERE;
            case WHOLE_EVERYWHERE -> Place.EVERYWHERE;
        };
    }

    boolean isWhole() {
        return form == Form.WHOLE_VARYING || form == Form.WHOLE || form == Form.WHOLE_EVERYWHERE;
    }

    /** What its node is told of it when it is handed in to wait for its turn. */
    TransactionRequest request(Transactions node) {
        if (isWhole()) {
            return new TransactionRequest.Whole(new byte[0], classes(node), KeySet.EMPTY,
                    TransactionRequest.Placement.ONE);
        }
        return form == Form.DECLARED
                ? new TransactionRequest.Interactive(classes(node))
                : TransactionRequest.Interactive.UNDECLARED;
    }

    ConflictClasses classes(Transactions node) {
        return node.needsClasses() ? program.classes() : ConflictClasses.ALL;
    }
}
