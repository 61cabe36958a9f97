package tutti.order.group;

import java.util.List;
import org.junit.jupiter.api.Tag;

/** The order of nodes that know each other's datagrams by a secret. */
@Tag("long")
class ProvenGroupOrderTest extends GroupOrderTest {
    @Override
    protected List<byte[]> datagramKeys() {
        return List.of("a secret of thirty-two characters".getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }
}
