package tutti.node.copy;

import java.util.List;
import java.util.Map;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;

class CopyGoldenTest extends GoldenContract {
    @Override
    protected Catalogue catalogue() {
        return new CopyCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("copies",
                List.of(new CopyMessage.Ask(2, 77, "cluster a of 0, 1, 2", true), new CopyMessage.Resume(9, 12),
                        new CopyMessage.Refused("node 0 leads the order", false), new CopyMessage.Granted(9),
                        new CopyMessage.Piece(13, "postgres/base/5/1259", 262144, 3, false, new byte[]{1, 2, 3}),
                        new CopyMessage.End(13, new byte[CopyDigest.BYTES]), new CopyMessage.Written(12),
                        new CopyMessage.Complete()));
    }
}
