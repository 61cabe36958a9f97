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

    /** Whether the owner of its log executes it. */
    boolean isForOwner(Transactions node) {
        return program.writes() && node.undertakes() && (form == Form.WHOLE_VARYING || form == Form.WHOLE);
    }

    /** Whether every node executes it, as front ends decide that. */
    boolean isForAll(Transactions node) {
        return program.writes() && switch (form) {
            case UNDECLARED, DECLARED, WHOLE_VARYING -> false;
            case WHOLE -> node.wholeOnly() || node.everywhereIfPossible();
            case WHOLE_EVERYWHERE -> true;
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
