package tutti.macro.distribution;

import java.util.HashMap;
import java.util.Map;

/** A map whose operations are executed at all nodes. */
class StateMachineComponentTest extends DistributedComponentContract {
    /** What is done with a map of numbers. */
    public record Add(String key, int amount) implements MacroOperation<Map<String, Integer>> {
        @Override
        public Object execute(Map<String, Integer> map) {
            int sum = map.getOrDefault(key, 0) + amount;
            if (sum < 0) {
                throw new IllegalArgumentException("there are not so many " + key);
            }
            map.put(key, sum);
            return sum;
        }
    }

    /** Looks. */
    public record Get(String key) implements MacroOperation<Map<String, Integer>> {
        @Override
        public Object execute(Map<String, Integer> map) {
            return map.get(key);
        }

        @Override
        public boolean reads() {
            return true;
        }
    }

    static final ObjectCodec VALUES = ObjectCodec.standard().withTypes(Add.class, Get.class);

    @Override
    protected MacroNode.Builder host(MacroNode.Builder node) {
        return node.values(VALUES).component(NUMBERS, HostedComponent.of(Map.class, new HashMap<>()));
    }

    @Override
    protected MacroNode.Builder elsewhere(MacroNode.Builder node) {
        return node.values(VALUES).component(NUMBERS, HostedComponent.elsewhere(Map.class));
    }

    @Override
    protected MacroOperation<?> add(String key, int amount) {
        return new Add(key, amount);
    }

    @Override
    protected MacroOperation<?> get(String key) {
        return new Get(key);
    }
}
