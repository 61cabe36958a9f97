package tutti.bookkeeper;

import java.util.List;
import java.util.Map;
import tutti.core.schema.ByteStrings;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;

class BookKeeperGoldenTest extends GoldenContract {
    private static final Batch BATCH = new Batch(2, 1_700_000_000_000L, 6,
            ByteStrings.of(List.of(new byte[]{1, 2, 3}, new byte[0])));

    @Override
    protected Catalogue catalogue() {
        return new BookKeeperCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        SenderTable table = new SenderTable();
        table.accept(0, 100, 1, 5);
        table.accept(2, 300, 1, 2);
        return Map.of("ledger messages",
                List.of(new LedgerMessage.Submit(BATCH.bytes(1)), new LedgerMessage.Letter(new byte[]{4, 5}),
                        new LedgerMessage.Written(17, 30, 207), new LedgerMessage.Stopped(17)),
                "ledger heads", List.of(new LedgerHead(table.image())), "ledger lists",
                List.of(new LedgerList("cluster c of nodes 0=a:1,1=b:2 with its log at /tutti/c",
                        List.of(new LedgerList.Segment(16, 100, 70_000), new LedgerList.Segment(17, 150, 0)),
                        List.of(12L))));
    }
}
