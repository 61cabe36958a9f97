package tutti.macro.distribution;

import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Turns a component's whole state into bytes, and an empty component into one with that state.
 *
 * @param <C> the component's interface
 */
public interface StateCodec<C> {
    /** Writes the state. The component stands still meanwhile. */
    void save(C component, Output to, ObjectCodec values);

    /** Gives a component this state instead of what it has. */
    void load(C component, Input from, ObjectCodec values);

    /** For maps. */
    static <K, V> StateCodec<Map<K, V>> map() {
        return new StateCodec<>() {
            @Override
            public void save(Map<K, V> component, Output to, ObjectCodec values) {
                to.writeUnsigned(component.size());
                for (Map.Entry<K, V> entry : component.entrySet()) {
                    values.write(entry.getKey(), to);
                    values.write(entry.getValue(), to);
                }
            }

            @Override
            @SuppressWarnings("unchecked")
            public void load(Map<K, V> component, Input from, ObjectCodec values) {
                component.clear();
                for (int left = from.readCount(); left > 0; left--) {
                    K key = (K) values.read(from);
                    component.put(key, (V) values.read(from));
                }
            }
        };
    }

    /** For lists, sets and queues. */
    static <E> StateCodec<Collection<E>> collection() {
        return new StateCodec<>() {
            @Override
            public void save(Collection<E> component, Output to, ObjectCodec values) {
                to.writeUnsigned(component.size());
                for (E element : component) {
                    values.write(element, to);
                }
            }

            @Override
            @SuppressWarnings("unchecked")
            public void load(Collection<E> component, Input from, ObjectCodec values) {
                component.clear();
                for (int left = from.readCount(); left > 0; left--) {
                    component.add((E) values.read(from));
                }
            }
        };
    }

    /** What is known for an implementation without asking; null if nothing is. */
    @SuppressWarnings("unchecked")
    static <C> @Nullable StateCodec<C> known(C implementation) {
        return switch (implementation) {
            case Map<?, ?> _ -> (StateCodec<C>) (StateCodec<?>) map();
            case Collection<?> _ -> (StateCodec<C>) (StateCodec<?>) collection();
            default -> null;
        };
    }
}
