package tutti.wire;

import tutti.engine.procedure.ProcedureCall;
import tutti.engine.procedure.StoredProcedure;

/** A procedure that does nothing. */
public final class NothingToDo implements StoredProcedure {
    @Override
    public void execute(ProcedureCall call) {
        // nothing
    }
}
