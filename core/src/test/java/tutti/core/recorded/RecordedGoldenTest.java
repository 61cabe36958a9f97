package tutti.core.recorded;

import java.util.List;
import java.util.Map;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;

class RecordedGoldenTest extends GoldenContract {
    @Override
    protected Catalogue catalogue() {
        return new RecordedCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("recorded workload", List.of(new RecordedNode.Beginning(2, 1_700_000_000_000L),
                new RecordedTransaction(5_000_000, 1_250_000, true, ConflictClasses.of(List.of(11L, -12L)),
                        new KeySet.Builder().add(77, KeyKind.UPDATE).build(), 321,
                        new ReadSet.Builder().row(3, 4).row(3, 5).scan(9).build())));
    }
}
