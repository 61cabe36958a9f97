package tutti.sim.world.replica;

import tutti.core.protocol.Request;
import tutti.core.txn.TransactionId;
import tutti.sim.world.engine.Program;

/**
 * A transaction as a client hands it in.
 *
 * @param session transactions of a session follow one another
 * @param program what it does
 * @param form how much is told of it beforehand
 * @param toldEarly whether a protocol that executes at once hears of it when it begins, or only when it asks to commit
 * @param rollsBack whether its client gives it up in the end
 * @param loses whether its session dies while it waits for its outcome
 */
public record Submission(int session, Program program, Form form, boolean toldEarly, boolean rollsBack, boolean loses) {
    /** How much is told of a transaction before it runs. */
    public enum Form {
        /** Nothing: statements come one by one. */
        UNDECLARED,
        /** Its conflict classes. */
        DECLARED,
        /** Everything, to be run at one replica. */
        WHOLE_ONE,
        /** Everything, to be run at one replica or at all. */
        WHOLE_EITHER,
        /** Everything, to be run at every replica. */
        WHOLE_ALL
    }

    Request request(TransactionId transaction) {
        return switch (form) {
            case UNDECLARED -> Request.Interactive.UNDECLARED;
            case DECLARED -> new Request.Interactive(program.classes());
            case WHOLE_ONE -> whole(transaction, Request.Placement.ONE);
            case WHOLE_EITHER -> whole(transaction, Request.Placement.EITHER);
            case WHOLE_ALL -> whole(transaction, Request.Placement.ALL);
        };
    }

    private Request whole(TransactionId transaction, Request.Placement placement) {
        return new Request.Whole(program.statement(transaction), program.classes(), program.exclusiveKeys(), placement);
    }

    boolean forAll() {
        return form == Form.WHOLE_ALL;
    }

    boolean isWhole() {
        return form == Form.WHOLE_ONE || form == Form.WHOLE_EITHER || form == Form.WHOLE_ALL;
    }
}
