package tutti.core.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class NearestWordTest {
    @Test
    void editDistanceCountsInsertionsDeletionsReplacementsAndSwaps() {
        assertEquals(0, NearestWord.distance("port", "port"));
        assertEquals(1, NearestWord.distance("prt", "port"));
        assertEquals(1, NearestWord.distance("prot", "port"));
        assertEquals(1, NearestWord.distance("pork", "port"));
        assertEquals(3, NearestWord.distance("kitten", "sitting"));
        assertEquals(4, NearestWord.distance("", "port"));
    }

    @Test
    void nothingIsSuggestedForAWordThatIsFarFromAll() {
        assertEquals("", NearestWord.near("completely", List.of("host", "port")));
        assertEquals("port", NearestWord.near("prot", List.of("host", "port")));
    }
}
