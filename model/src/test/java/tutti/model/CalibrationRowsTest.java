package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.ConflictClasses;
import tutti.workload.tpcc.TpccInput;

class CalibrationRowsTest {
    private static final double SHARE = 0.5;
    private static final Calibration.Rows ROWS = new Calibration.Rows(SHARE, 60, 5, 10, 3, 400, 7);

    private static Work work(RequestKind kind, boolean active) {
        Work work = new Work(1, kind, 1, new TpccInput.NewOrder(1, 1, 1, List.of()),
                new TransactionRequest.Interactive(ConflictClasses.ALL), active, 1000, 0, 0);
        work.rows = 20;
        return work;
    }

    @Test
    void rowsAreCapturedWhereTheyAreChangedUnlessAllExecute() {
        assertEquals(1000 + 200, ROWS.executing(work(RequestKind.NEW_ORDER, false)));
        assertEquals(1000 + 60 + 200, ROWS.executing(work(RequestKind.MAINTENANCE, false)));
        assertEquals(1000 + 60 + 400 + 140, ROWS.executing(work(RequestKind.MAINTENANCE, true)));
        assertEquals(1000 + 60 + 400 + 140, ROWS.everywhere(work(RequestKind.MAINTENANCE, true)));
    }

    @Test
    void applyingCostsAShareAndSomethingForEachTransactionAndRow() {
        assertEquals(500 + 60 + 100, ROWS.applying(work(RequestKind.NEW_ORDER, false)));
    }
}
