package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.RandomStream;

class LongMapTest {
    @Test
    void doesWhatAMapDoes() {
        LongMap<Integer> map = new LongMap<>();
        Map<Long, Integer> model = new HashMap<>();
        RandomStream random = new RandomStream(1);
        for (int i = 0; i < 20_000; i++) {
            long key = random.nextLong(700) * (random.chance(0.5) ? 1L << 42 : 1);
            if (random.chance(0.5)) {
                map.put(key, i);
                model.put(key, i);
            } else {
                map.remove(key);
                model.remove(key);
            }
            assertEquals(model.get(key), map.get(key));
            assertEquals(model.size(), map.size());
        }
        model.forEach((key, value) -> assertEquals(value, map.get(key)));
    }
}
