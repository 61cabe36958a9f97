package tutti.server.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class SchemaTest {
    @Test
    void editDistanceCountsInsertionsDeletionsReplacementsAndSwaps() {
        assertEquals(0, Schema.editDistance("port", "port"));
        assertEquals(1, Schema.editDistance("prt", "port"));
        assertEquals(1, Schema.editDistance("prot", "port"));
        assertEquals(1, Schema.editDistance("pork", "port"));
        assertEquals(3, Schema.editDistance("kitten", "sitting"));
        assertEquals(4, Schema.editDistance("", "port"));
    }

    @Test
    void nothingIsSuggestedForAWordThatIsFarFromAll() {
        assertEquals("", Schema.nearest("completely", List.of("host", "port")));
        assertEquals("port", Schema.nearest("prot", List.of("host", "port")));
    }

    @Test
    void everySettingExplainsItself() {
        for (String path : Schema.paths(NodeConfig.class, "")) {
            assertEquals(path, path.toLowerCase(java.util.Locale.ROOT));
        }
    }
}
